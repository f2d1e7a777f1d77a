"""The message that has brought an event: for handlers that need more than the event says.

    message = origin_of(event)                  # None where no message has brought it
    trace = message.headers.get("traceparent")

The event remembers it outside its fields: it is equal to one without, and written like one.
"""

from typing import TypeVar

from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.outbox_message import OutboxMessage

EventT = TypeVar("EventT", bound=DomainEvent)

_KEPT_AS = "message of origin"  # with spaces: no field of an event has that name


def with_origin(event: EventT, message: OutboxMessage) -> EventT:
    """Return a copy that knows its message; whoever decodes received messages calls it."""
    brought = object.__new__(type(event))
    brought.__dict__.update(event.__dict__)
    brought.__dict__[_KEPT_AS] = message
    return brought


def origin_of(event: DomainEvent) -> OutboxMessage | None:
    """Return the message as it was stored; ``None``: the event was published without one.

    Copies that are made by ``attrs.evolve`` do not know it.
    """
    message = event.__dict__.get(_KEPT_AS)
    return message if isinstance(message, OutboxMessage) else None
