"""Envelopes of integration events as messages on a broker, and back.

The payload is the body, byte for byte. The rest stands beside it, in the attributes that every
event has; see ``wire_format``.
"""

import datetime as dt

from pragmatic_ddd.application.event_origin import occurred_at_of, origin_of
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports import message_headers
from pragmatic_ddd.ports.broadcast import AggregateMessageEnvelope
from pragmatic_ddd.ports.outbox_message import OutboxMessage

_MINUTE = dt.timedelta(minutes=1)


def message_of(envelope: AggregateMessageEnvelope) -> OutboxMessage:
    """Return the message that an event manager sends for an envelope.

    A header ``occurred-at`` is the envelope's own, whatever its headers say.
    """
    occurred_at = _rfc_3339(envelope.occurred_at)
    return OutboxMessage(
        message_id=envelope.message_id,
        aggregate_type=envelope.aggregate_type,
        aggregate_id=envelope.aggregate_id,
        aggregate_version=envelope.aggregate_version,
        event_index=envelope.event_index,
        event_type=envelope.message_type,
        event_version=envelope.message_version,
        payload=envelope.payload,
        headers={**envelope.headers, message_headers.OCCURRED_AT: occurred_at},
    )


def envelope_of(event: DomainEvent) -> AggregateMessageEnvelope:
    """Return what has brought an event to a handler, with its payload as it was sent.

    Raises:
        EventDeserializationError: No message has brought it; or one that lacks what an envelope
            has, such as the aggregate's type.
    """
    message = origin_of(event)
    if message is None:
        raise EventDeserializationError(event.event_type, "", "no message has brought it")
    occurred_at = occurred_at_of(message)
    try:
        return AggregateMessageEnvelope(
            message_id=message.message_id,
            message_type=message.event_type,
            message_version=message.event_version,
            aggregate_type=message.aggregate_type,
            aggregate_id=message.aggregate_id,
            aggregate_version=message.aggregate_version or None,
            event_index=message.event_index,
            occurred_at=event.occurred_at if occurred_at is None else occurred_at,
            payload=message.payload,
            headers={
                name: value
                for name, value in message.headers.items()
                if name != message_headers.OCCURRED_AT
            },
        )
    except (TypeError, ValueError) as error:
        raise EventDeserializationError(message.event_type, "", str(error)) from error


def _rfc_3339(moment: dt.datetime) -> str:
    """Return a time as CloudEvents have it: a zone's offset has no seconds there."""
    offset = moment.utcoffset()
    if offset is not None and offset % _MINUTE:
        moment = moment.astimezone(dt.UTC)
    return moment.isoformat()
