"""What can happen to an order. Names and fields are a contract between the service's processes."""

import attrs

from examples.order_service.domain.money import Money
from pragmatic_ddd import DomainEvent


@attrs.frozen
class OrderedItem:
    """A line as subscribers see it: a value, where the order has an entity."""

    sku: str
    quantity: int
    unit_price: Money


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    customer_id: str
    items: tuple[OrderedItem, ...]
    total: Money


class OrderLineAdded(DomainEvent, name="shop.order.line-added"):
    item: OrderedItem
    total: Money


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total: Money
    payment_reference: str


class OrderShipped(DomainEvent, name="shop.order.shipped"):
    tracking_code: str


class OrderCancelled(DomainEvent, name="shop.order.cancelled"):
    reason: str
    refund: Money | None = None
