"""What a consumer needs to know beside the body, which the adapters send as well."""

from collections.abc import Iterator

from pragmatic_ddd.ports import OutboxMessage
from tests.benchmarks.handwritten_postgresql import Message

Sendable = OutboxMessage | Message


def attributes_by_hand(message: Sendable) -> Iterator[tuple[str, str]]:
    """Yield names and values as CloudEvents calls them, names without a prefix."""
    yield "specversion", "1.0"
    yield "id", message.message_id
    yield "source", "/"
    yield "type", message.event_type
    yield "subject", message.aggregate_id
    yield "aggregatetype", message.aggregate_type
    yield "aggregateversion", str(message.aggregate_version or 0)
    yield "eventindex", str(message.event_index)
    yield "eventversion", str(message.event_version)
