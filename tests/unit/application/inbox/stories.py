"""Events of orders, and the messages that bring them."""

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.ports.message_headers import AGGREGATE_EPOCH, PREVIOUS_PLACE


class OrderPaid(DomainEvent, name="test.inbox.order.paid"):
    cents: int = 0


class OrderShipped(DomainEvent, name="test.inbox.order.shipped"):
    pass


def paid(
    version: int = 1, *, index: int = 0, of: str = "1", event_id: str | None = None
) -> OrderPaid:
    """Return an event that no message has brought."""
    event = OrderPaid(aggregate_id=of, event_id=event_id or f"{of}-{version}.{index}")
    return event.placed_at(version, index)


def brought(
    event: OrderPaid,
    *,
    previous: str | None = None,
    epoch: str | None = None,
    aggregate_type: str = "test.order",
) -> OrderPaid:
    """Return it as a message has brought it."""
    headers = {PREVIOUS_PLACE: previous, AGGREGATE_EPOCH: epoch}
    message = OutboxMessage(
        message_id=event.event_id,
        aggregate_type=aggregate_type,
        aggregate_id=event.aggregate_id,
        aggregate_version=event.aggregate_version or None,
        event_index=event.event_index,
        event_type=event.event_type,
        payload=b"{}",
        headers={name: value for name, value in headers.items() if value is not None},
    )
    return with_origin(event, message)


def history(length: int, *, of: str = "1") -> list[OrderPaid]:
    """Return the events of one order, one for each version, each knowing the one before it."""
    return [
        brought(paid(version, of=of), previous=f"{version - 1}.0")
        for version in range(1, length + 1)
    ]
