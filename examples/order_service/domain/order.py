"""The aggregate: an order with its lines.

Each method asks the rules of its operation, changes the state, and raises its event.
"""

from collections.abc import Sequence
from typing import Self

import attrs

from examples.order_service.domain.money import Money
from examples.order_service.domain.order_events import (
    OrderCancelled,
    OrderedItem,
    OrderLineAdded,
    OrderPaid,
    OrderPlaced,
    OrderShipped,
)
from examples.order_service.domain.order_line import OrderLine
from examples.order_service.domain.order_operations import OrderOperations
from examples.order_service.domain.order_rules import LINE_RULES, RULES_OF
from examples.order_service.domain.order_status import OrderStatus
from pragmatic_ddd import AggregateRoot
from pragmatic_ddd.domain import EntityOperation


class Order(AggregateRoot, name="shop.order", operations=OrderOperations):
    id: str
    customer_id: str
    status: OrderStatus = OrderStatus.PLACED
    lines: list[OrderLine] = attrs.field(factory=list)

    @classmethod
    def place(cls, order_id: str, customer_id: str, items: Sequence[OrderedItem]) -> Self:
        lines = [OrderLine.of(item, number) for number, item in enumerate(items, start=1)]
        LINE_RULES.check(lines).raise_if_broken()
        order = cls(id=order_id, customer_id=customer_id, lines=lines)
        order.record_operation(OrderOperations.PLACE)
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
        line = OrderLine.of(item, number=len(self.lines) + 1)
        LINE_RULES.check([*self.lines, line]).raise_if_broken()
        self._begin(OrderOperations.ADD_LINE)
        self.lines.append(line)
        self.collect_event(OrderLineAdded(aggregate_id=self.id, item=item, total=self.total))

    def pay(self, payment_reference: str) -> None:
        self._begin(OrderOperations.PAY)
        self.status = OrderStatus.PAID
        self.collect_event(
            OrderPaid(aggregate_id=self.id, total=self.total, payment_reference=payment_reference)
        )

    def ship(self, tracking_code: str) -> None:
        self._begin(OrderOperations.SHIP)
        self.status = OrderStatus.SHIPPED
        self.collect_event(OrderShipped(aggregate_id=self.id, tracking_code=tracking_code))

    def cancel(self, reason: str) -> None:
        self._begin(OrderOperations.CANCEL)
        self._cancel(reason)

    def cancel_with_account(self) -> None:
        self._begin(OrderOperations.CLOSE_ACCOUNT)
        self._cancel("the account was closed")

    def _begin(self, operation: EntityOperation) -> None:
        RULES_OF[operation].check(self.status).raise_if_broken()
        self.record_operation(operation)  # the cause of the event that follows

    def _cancel(self, reason: str) -> None:
        refund = self.total if self.status is OrderStatus.PAID else None
        self.status = OrderStatus.CANCELLED
        self.collect_event(OrderCancelled(aggregate_id=self.id, reason=reason, refund=refund))
