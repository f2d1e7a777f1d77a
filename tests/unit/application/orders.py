"""Orders for the tests of units of work and command executors, in memory."""

from collections.abc import Sequence

import attrs

from pragmatic_ddd.application.unit_of_work import UnitOfWork
from pragmatic_ddd.domain import (
    AggregateRoot,
    BrokenRuleRegistry,
    DomainEvent,
    EntityRule,
    MessageCode,
    RuleItem,
)
from pragmatic_ddd.errors import DomainError, EventRejectedError
from pragmatic_ddd.ports import Receipt
from pragmatic_ddd_local import InMemoryRepository, InMemoryTransactionOperations


class OrderPlaced(DomainEvent, name="unit.order.placed"):
    pass


class OrderPaid(DomainEvent, name="unit.order.paid"):
    pass


class OrderPaidError(DomainError):
    pass


class OrderRules(BrokenRuleRegistry):
    NO_LINES = MessageCode("unit.order.no-lines", "an order has at least one line")


class Order(AggregateRoot, name="unit.order"):
    id: str
    lines: list[str] = attrs.field(factory=list)
    line_count: int = 0
    paid: bool = False

    @classmethod
    def place(cls, order_id: str, *lines: str) -> "Order":
        order = cls(id=order_id, lines=list(lines))
        order.collect_event(OrderPlaced(aggregate_id=order_id))
        return order

    def pay(self) -> None:
        if self.paid:
            raise OrderPaidError(self.id)
        self.paid = True
        self.collect_event(OrderPaid(aggregate_id=self.id))

    def trigger_data_sync_hook(self) -> None:
        self.line_count = len(self.lines)


class Invoice(AggregateRoot, name="unit.invoice"):
    id: str


ORDER_RULES = EntityRule[Order](RuleItem(OrderRules.NO_LINES, lambda order: bool(order.lines)))


@attrs.define
class Publisher:
    """Remembers what it publishes, and refuses what it is told to."""

    published: list[DomainEvent] = attrs.field(factory=list)
    refused: str = ""

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        if event.event_type == self.refused:
            raise EventRejectedError(event.event_id, "orders", "because")
        self.published.append(event)
        return Receipt("noted")

    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        raise NotImplementedError


@attrs.define
class Shop:
    transactions: InMemoryTransactionOperations = attrs.field(factory=InMemoryTransactionOperations)
    publisher: Publisher = attrs.field(factory=Publisher)
    orders: InMemoryRepository[Order] = attrs.field(init=False)
    invoices: InMemoryRepository[Invoice] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.orders = InMemoryRepository(Order, self.transactions)
        self.invoices = InMemoryRepository(Invoice, self.transactions)

    def work(self) -> UnitOfWork:
        return UnitOfWork(
            transactions=self.transactions,
            publisher=self.publisher,
            repositories={Order: self.orders},
        )

    def stored(self, order_id: str) -> Order:
        found = self.orders.find_by_id(order_id)
        assert found is not None
        return found

    @property
    def published(self) -> list[str]:
        return [event.event_type.removeprefix("unit.") for event in self.publisher.published]
