"""What the tests of the local adapter sell."""

import datetime as dt
from collections.abc import Callable

import attrs

from pragmatic_ddd import AggregateRoot, DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

A_WHILE = dt.timedelta(seconds=10)


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total: int = 0


class Order(AggregateRoot, name="shop.order"):
    lines: list[str] = attrs.field(factory=list)

    def pay(self, total: int) -> None:
        self.collect_event(OrderPaid(aggregate_id=str(self.id), total=total))


def a_serializer() -> OrjsonEventSerializer:
    registry = EventTypeRegistry(OrderPaid)
    return OrjsonEventSerializer(registry)


def a_payment(total: int = 0, *, of: str = "1") -> OrderPaid:
    return OrderPaid(aggregate_id=of, total=total)


def a_stored(event: OrderPaid) -> OutboxMessage:
    return EventEncoding(serializer=a_serializer()).encode(event, aggregate_type="shop.order")


def failing(times: int, error: Exception, then: Callable[[], object]) -> Callable[[object], None]:
    """A handler that fails that many times, and then succeeds."""
    left = [times]

    def handle(_: object) -> None:
        if left[0]:
            left[0] -= 1
            raise error
        then()

    return handle
