"""The message that has brought an event: for handlers that need more than the event says.

    message = origin_of(event)                  # None where no message has brought it
    trace = message.headers.get("traceparent")

The event remembers it outside its fields: it is equal to one without, and written like one. Only
an ``IntegrationEvent`` has fields that the message fills.
"""

import datetime as dt
from typing import TypeVar

import attrs

from pragmatic_ddd.application.integration_event import IntegrationEvent
from pragmatic_ddd.application.timestamp import parsed_timestamp
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports import message_headers
from pragmatic_ddd.ports.outbox_message import OutboxMessage

EventT = TypeVar("EventT", bound=DomainEvent)

_KEPT_AS = "message of origin"  # with spaces: no field of an event has that name


def with_origin(event: EventT, message: OutboxMessage) -> EventT:
    """Return a copy that knows its message; whoever decodes received messages calls it.

    Raises:
        EventDeserializationError: What the message says of an integration event is none.
    """
    brought = object.__new__(type(event))
    brought.__dict__.update(event.__dict__)
    if isinstance(event, IntegrationEvent):
        _fill(brought, message)
    brought.__dict__[_KEPT_AS] = message
    return brought


def origin_of(event: DomainEvent) -> OutboxMessage | None:
    """Return the message as it was stored; ``None``: the event was published without one.

    Copies that are made by ``attrs.evolve`` do not know it.
    """
    message = event.__dict__.get(_KEPT_AS)
    return message if isinstance(message, OutboxMessage) else None


def occurred_at_of(message: OutboxMessage) -> dt.datetime | None:
    """Return when a message says that it happened; ``None``: only its body says it, or nobody.

    Raises:
        EventDeserializationError: It says something else there.
    """
    text = message.headers.get(message_headers.OCCURRED_AT)
    if text is None:
        return None
    try:
        return parsed_timestamp(text)
    except ValueError as error:
        raise EventDeserializationError(
            message.event_type, f"headers[{message_headers.OCCURRED_AT!r}]", str(error)
        ) from error


def _fill(event: DomainEvent, message: OutboxMessage) -> None:
    event.__dict__.update(
        aggregate_id=message.aggregate_id,
        event_id=message.message_id,
        operation_code=message.headers.get(message_headers.OPERATION_CODE),
        aggregate_version=message.aggregate_version or 0,
        event_index=message.event_index,
    )
    occurred_at = occurred_at_of(message)
    if occurred_at is not None:
        event.__dict__["occurred_at"] = occurred_at
    try:
        attrs.validate(event)  # type: ignore[arg-type]  # FrozenModel made it an attrs class
    except (TypeError, ValueError) as error:
        raise EventDeserializationError(message.event_type, "", str(error)) from error
