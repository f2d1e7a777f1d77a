"""Events as RocketMQ messages, and back: what goes into which property.

body             the stored payload, byte for byte
message group    the aggregate's id: its events share a queue, in order
keys, tag        the event's id and type, for the broker's tools and for filters
ce_...           the attributes of the wire format, one property each
"""

import datetime as dt
import functools
import re
import urllib.parse
from collections.abc import Mapping

from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    ReceivedEvent,
    attributes_of,
    received_event,
)
from pragmatic_ddd.application.events.wire_attributes import ATTRIBUTES, DEFAULT_SOURCE, TYPE
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_rocketmq_grpc.message_group import message_group
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.received_message import ReceivedMessage

PREFIX = "ce_"

_PROPERTY_OF = {name: PREFIX + name for name in ATTRIBUTES}
_NOT_IN_TAGS = re.compile(r"[\s|]+")


def outgoing(
    message: OutboxMessage,
    topic: str,
    addressee: Addressee = EVERYBODY,
    *,
    source: str = DEFAULT_SOURCE,
    deliver_at: dt.datetime | None = None,
) -> OutgoingMessage:
    """Return the RocketMQ message for an event.

    Args:
        message: The event as it was stored.
        topic: Where it goes.
        addressee: Whom it is for.
        source: Who sends it: a URI reference.
        deliver_at: When consumers get it, apart from the other events of its aggregate; at
            once, in their order, where ``None``.

    Raises:
        RefusedMessageError: RocketMQ can never take it.
    """
    attributes = attributes_of(message, addressee, source=source)
    return OutgoingMessage(
        topic=topic,
        body=message.payload,
        message_group=message_group(message.aggregate_id) if deliver_at is None else None,
        # A blank would make two keys of it. Half a surrogate passes here, to be refused by name
        # among the properties.
        key=urllib.parse.quote(message.message_id, safe="-_.:~", errors="surrogatepass"),
        tag=_tag(message.event_type),
        properties={_PROPERTY_OF[name]: value for name, value in attributes.items()},
        deliver_at=deliver_at,
    )


def event_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return those of a message's properties that belong to the wire format."""
    return {name: value for name, value in properties.items() if name.startswith(PREFIX)}


def event_type_of(message: ReceivedMessage) -> str:
    """Return the stable name of the event in a message; empty where it is no event."""
    return message.properties.get(_PROPERTY_OF[TYPE], "")


def received(message: ReceivedMessage) -> ReceivedEvent:
    """Return what a message says of the event in it.

    Raises:
        EventDeserializationError: A property does not say what it should.
    """
    attributes = {
        name: message.properties[prefixed]
        for name, prefixed in _PROPERTY_OF.items()
        if prefixed in message.properties
    }
    return received_event(attributes, message.body, where=message.where, topic=message.topic)


@functools.lru_cache(maxsize=1024)
def _tag(event_type: str) -> str:
    return _NOT_IN_TAGS.sub("_", event_type)
