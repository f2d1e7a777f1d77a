"""The aggregate: an order with its lines. Every change checks its rule, then raises its event."""

import enum
from collections.abc import Sequence
from typing import Self

import attrs

from examples.order_service.domain.money import Money
from examples.order_service.domain.order_errors import (
    OrderAlreadyPaidError,
    OrderCancelledError,
    OrderNotPaidError,
    OrderShippedError,
    OrderWithoutLinesError,
)
from examples.order_service.domain.order_events import (
    OrderCancelled,
    OrderedItem,
    OrderLineAdded,
    OrderPaid,
    OrderPlaced,
    OrderShipped,
)
from examples.order_service.domain.order_line import OrderLine
from pragmatic_ddd import AggregateRoot


class OrderStatus(enum.StrEnum):
    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


class Order(AggregateRoot, name="shop.order"):
    id: str
    customer_id: str
    status: OrderStatus = OrderStatus.PLACED
    lines: list[OrderLine] = attrs.field(factory=list)

    @classmethod
    def place(cls, order_id: str, customer_id: str, items: Sequence[OrderedItem]) -> Self:
        if not items:
            raise OrderWithoutLinesError(order_id)
        order = cls(id=order_id, customer_id=customer_id)
        for item in items:
            order._append(item)
        order.collect_event(
            OrderPlaced(
                aggregate_id=order.id,
                customer_id=customer_id,
                items=tuple(items),
                total=order.total,
            )
        )
        return order

    @property
    def total(self) -> Money:
        first, *others = [line.total for line in self.lines]
        return sum(others, start=first)

    def add_line(self, item: OrderedItem) -> None:
        self._refuse_if_closed()
        if self.status is OrderStatus.PAID:
            raise OrderAlreadyPaidError(self.id)
        self._append(item)
        self.collect_event(OrderLineAdded(aggregate_id=self.id, item=item, total=self.total))

    def pay(self, payment_reference: str) -> None:
        self._refuse_if_closed()
        if self.status is OrderStatus.PAID:
            raise OrderAlreadyPaidError(self.id)
        self.status = OrderStatus.PAID
        self.collect_event(
            OrderPaid(aggregate_id=self.id, total=self.total, payment_reference=payment_reference)
        )

    def ship(self, tracking_code: str) -> None:
        self._refuse_if_closed()
        if self.status is not OrderStatus.PAID:
            raise OrderNotPaidError(self.id)
        self.status = OrderStatus.SHIPPED
        self.collect_event(OrderShipped(aggregate_id=self.id, tracking_code=tracking_code))

    def cancel(self, reason: str) -> None:
        self._refuse_if_closed()
        refund = self.total if self.status is OrderStatus.PAID else None
        self.status = OrderStatus.CANCELLED
        self.collect_event(OrderCancelled(aggregate_id=self.id, reason=reason, refund=refund))

    def _refuse_if_closed(self) -> None:
        if self.status is OrderStatus.SHIPPED:
            raise OrderShippedError(self.id)
        if self.status is OrderStatus.CANCELLED:
            raise OrderCancelledError(self.id)

    def _append(self, item: OrderedItem) -> None:
        self.lines.append(
            OrderLine(
                number=len(self.lines) + 1,
                sku=item.sku,
                quantity=item.quantity,
                unit_price=item.unit_price,
            )
        )
