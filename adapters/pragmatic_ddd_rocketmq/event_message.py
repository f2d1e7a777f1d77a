"""Events as RocketMQ messages, and back: what goes into which property.

body             the stored payload, byte for byte
__SHARDINGKEY    the aggregate's id: its events share a queue, in order
KEYS, TAGS       the event's id and type, for the broker's tools and for filters
ce_...           the attributes of the wire format, one property each; see ``PROPERTIES``
"""

import functools
import re
import urllib.parse

from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    ReceivedEvent,
    attributes_of,
    received_event,
)
from pragmatic_ddd.application.events.wire_attributes import ATTRIBUTES, DEFAULT_SOURCE, TYPE
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage

PREFIX = "ce_"
PROPERTIES = tuple(PREFIX + name for name in ATTRIBUTES)

_PROPERTY_OF = dict(zip(ATTRIBUTES, PROPERTIES, strict=True))
_NOT_IN_TAGS = re.compile(r"[\s|]+")


def outgoing(
    message: OutboxMessage,
    topic: str,
    addressee: Addressee = EVERYBODY,
    *,
    source: str = DEFAULT_SOURCE,
    delay_level: int = 0,
) -> OutgoingMessage:
    """Return the RocketMQ message for an event.

    Args:
        message: The event as it was stored.
        topic: Where it goes.
        addressee: Whom it is for.
        source: Who sends it: a URI reference.
        delay_level: The broker's delay level; 0 for none.

    Raises:
        RefusedMessageError: RocketMQ can never take it.
    """
    attributes = attributes_of(message, addressee, source=source)
    return OutgoingMessage(
        topic=topic,
        body=message.payload,
        sharding_key=message.aggregate_id,
        # Half a surrogate passes here, to be refused by name among the properties.
        key=urllib.parse.quote(message.message_id, safe="-_.:~", errors="surrogatepass"),
        tag=_tag(message.event_type),
        properties={_PROPERTY_OF[name]: value for name, value in attributes.items()},
        delay_level=delay_level,
    )


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
