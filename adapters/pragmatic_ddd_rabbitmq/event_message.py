"""Events as AMQP messages, and back: what goes into which property.

body            the stored payload, byte for byte
routing key     the event's type: what bindings choose by
message_id      the event's id          type        the event's type
timestamp       when it occurred        content_type    application/json
headers         CloudEvents 1.0 in binary mode: cloudEvents_id, cloudEvents_type, …
"""

import datetime as dt
from typing import Final

from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    ReceivedEvent,
    attributes_of,
    received_event,
)
from pragmatic_ddd.application.events.wire_attributes import (
    ATTRIBUTES,
    DATACONTENTTYPE,
    DEFAULT_SOURCE,
    TIME,
)
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_rabbitmq.outgoing_message import PREFIX, OutgoingMessage
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage

# The content type is a property of its own.
_HEADERS: Final = {name: PREFIX + name for name in ATTRIBUTES if name != DATACONTENTTYPE}


def outgoing(
    message: OutboxMessage,
    exchange: str,
    addressee: Addressee = EVERYBODY,
    *,
    source: str = DEFAULT_SOURCE,
) -> OutgoingMessage:
    """Return the AMQP message for an event.

    Args:
        message: The event as it was stored.
        exchange: Where it goes.
        addressee: Whom it is for.
        source: Who sends it.
    """
    attributes = attributes_of(message, addressee, source=source)
    del attributes[DATACONTENTTYPE]
    return OutgoingMessage(
        exchange=exchange,
        routing_key=message.event_type,
        body=message.payload,
        message_id=message.message_id,
        type=message.event_type,
        headers={_HEADERS[name]: value for name, value in attributes.items()},
        timestamp=_seconds(attributes.get(TIME)),
    )


def event_of(message: ReceivedMessage) -> ReceivedEvent:
    """Return what a message says of the event in it.

    Raises:
        EventDeserializationError: An attribute does not say what it should.
    """
    return received_event(
        message.attributes, message.body, where=str(message), topic=message.exchange
    )


def _seconds(time: str | None) -> int | None:
    """Return what AMQP's timestamp can say: whole seconds since 1970."""
    if time is None:
        return None
    try:
        seconds = int(dt.datetime.fromisoformat(time).timestamp())
    except ValueError:  # a leap second, or a 13th month
        return None
    return seconds if seconds >= 0 else None
