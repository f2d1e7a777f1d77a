"""Recording events where there is no aggregate to raise them."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.arguments import can_be_called, of_type
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import ForeignEventError
from pragmatic_ddd.ports.outbox_message import OutboxMessage


@attrs.frozen(kw_only=True)
class OutboxRecorder:
    """Writes events to the outbox inside the caller's transaction.

    What it records has no version: no promised order, and no owner, so the relay or the eager
    path claims it first. Use aggregates where order matters.

    Attributes:
        encoding: How the application encodes events.
        write: Takes the message into the caller's transaction.
    """

    encoding: EventEncoding = attrs.field(validator=of_type(EventEncoding))
    write: Callable[[OutboxMessage], object] = attrs.field(validator=can_be_called())

    def record(self, aggregate_type: str, aggregate_id: str, event: DomainEvent) -> None:
        """Record one event; it is stored if and only if the caller's transaction commits.

        Args:
            aggregate_type: Stable name of what the event is about, such as ``shop.order``.
            aggregate_id: Its identity; the event must carry the same.
            event: The fact.

        Raises:
            ForeignEventError: The event carries another id; nothing was recorded.
            EventSerializationError: A value cannot be written; nothing was recorded.
            OutboxStoreError: The caller's transaction must be rolled back.
        """
        if event.aggregate_id != aggregate_id:
            raise ForeignEventError(
                aggregate_type, aggregate_id, event.event_type, event.aggregate_id
            )
        self.write(self.encoding.encode(event, aggregate_type=aggregate_type))
