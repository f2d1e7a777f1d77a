"""A line of an order: lives and is stored with its order, and is reached through it only."""

from typing import Self

import attrs

from examples.order_service.domain.money import Money
from examples.order_service.domain.order_events import OrderedItem
from pragmatic_ddd import Entity
from pragmatic_ddd.domain import uuid7_text


class OrderLine(Entity):
    id: str = attrs.field(factory=uuid7_text)
    number: int
    sku: str
    quantity: int = attrs.field(validator=attrs.validators.ge(1))
    unit_price: Money

    @classmethod
    def of(cls, item: OrderedItem, number: int) -> Self:
        return cls(number=number, sku=item.sku, quantity=item.quantity, unit_price=item.unit_price)

    @property
    def total(self) -> Money:
        return self.unit_price * self.quantity

    def as_item(self) -> OrderedItem:
        return OrderedItem(sku=self.sku, quantity=self.quantity, unit_price=self.unit_price)
