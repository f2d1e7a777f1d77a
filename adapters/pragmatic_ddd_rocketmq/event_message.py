"""Events as RocketMQ messages, and back: what goes into which property.

body             the stored payload, byte for byte
__SHARDINGKEY    the aggregate's id: its events share a queue, in order
KEYS, TAGS       the event's id and type, for the broker's tools and for filters
properties       what must be known without reading the body; see ``PROPERTIES``
"""

import functools
import json
import re
import urllib.parse
from collections.abc import Mapping

import attrs

from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage

MESSAGE_ID = "message_id"
AGGREGATE_TYPE = "aggregate_type"
AGGREGATE_ID = "aggregate_id"
AGGREGATE_VERSION = "aggregate_version"
EVENT_INDEX = "event_index"
EVENT_TYPE = "event_type"
EVENT_VERSION = "event_version"
HEADERS = "headers"  # one JSON object: names and values may be any text
SUBSCRIBER = "subscriber"  # the one subscriber that it is for
ONLY_THIS = "only_this"  # not for those that depend on that subscriber
CONSUMER_GROUP = "consumer_group"  # the one group that it is for

PROPERTIES = (
    MESSAGE_ID,
    AGGREGATE_TYPE,
    AGGREGATE_ID,
    AGGREGATE_VERSION,
    EVENT_INDEX,
    EVENT_TYPE,
    EVENT_VERSION,
    HEADERS,
    SUBSCRIBER,
    ONLY_THIS,
    CONSUMER_GROUP,
)

_TRUE = "true"
_NOT_IN_TAGS = re.compile(r"[\s|]+")
_headers_writer = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one each time


@attrs.frozen(kw_only=True)
class Addressee:
    """Whom a message is for, where it is not for everybody.

    Attributes:
        subscriber: Code of the one subscriber.
        only_this: Not for those that depend on it.
        consumer_group: The one group.
    """

    subscriber: str | None = None
    only_this: bool = False
    consumer_group: str | None = None

    def properties(self) -> dict[str, str]:
        """Return what a message says of it."""
        said = {
            SUBSCRIBER: self.subscriber,
            ONLY_THIS: _TRUE if self.only_this else None,
            CONSUMER_GROUP: self.consumer_group,
        }
        return {name: value for name, value in said.items() if value}


EVERYBODY = Addressee()


@attrs.frozen(kw_only=True)
class ReceivedEvent:
    """What a received message says of the event in it.

    Attributes:
        message: The event as it was stored, not yet decoded.
        addressee: Whom it is for.
    """

    message: OutboxMessage
    addressee: Addressee = EVERYBODY


def outgoing(
    message: OutboxMessage, topic: str, addressee: Addressee = EVERYBODY, *, delay_level: int = 0
) -> OutgoingMessage:
    """Return the RocketMQ message for an event.

    Args:
        message: The event as it was stored.
        topic: Where it goes.
        addressee: Whom it is for.
        delay_level: The broker's delay level; 0 for none.

    Raises:
        RefusedMessageError: RocketMQ can never take it.
    """
    properties = {
        MESSAGE_ID: message.message_id,
        AGGREGATE_TYPE: message.aggregate_type,
        AGGREGATE_ID: message.aggregate_id,
        EVENT_INDEX: str(message.event_index),
        EVENT_TYPE: message.event_type,
        EVENT_VERSION: str(message.event_version),
    }
    if message.aggregate_version is not None:
        properties[AGGREGATE_VERSION] = str(message.aggregate_version)
    if message.headers:
        properties[HEADERS] = _headers_writer.encode(dict(message.headers))
    if addressee is not EVERYBODY:
        properties |= addressee.properties()
    return OutgoingMessage(
        topic=topic,
        body=message.payload,
        sharding_key=message.aggregate_id,
        # Half a surrogate passes here, to be refused by name among the properties.
        key=urllib.parse.quote(message.message_id, safe="-_.:~", errors="surrogatepass"),
        tag=_tag(message.event_type),
        properties=properties,
        delay_level=delay_level,
    )


def received(message: ReceivedMessage) -> ReceivedEvent:
    """Return what a message says of the event in it.

    Raises:
        EventDeserializationError: A property does not say what it should.
    """
    properties = message.properties
    event_type = properties.get(EVENT_TYPE, "")
    try:
        stored = OutboxMessage(
            message_id=properties[MESSAGE_ID],
            aggregate_type=properties.get(AGGREGATE_TYPE, ""),
            aggregate_id=properties[AGGREGATE_ID],
            aggregate_version=_whole_number(properties.get(AGGREGATE_VERSION)),
            event_index=_whole_number(properties.get(EVENT_INDEX)) or 0,
            event_type=event_type,
            event_version=_whole_number(properties.get(EVENT_VERSION)) or 1,
            payload=message.body,
            headers=_headers(properties.get(HEADERS)),
        )
    except KeyError as error:
        reason = f"message {message.message_id} has no property {error.args[0]}"
        raise EventDeserializationError(event_type, "", reason) from error
    except ValueError as error:
        reason = f"message {message.message_id}: {error}"
        raise EventDeserializationError(event_type, "", reason) from error
    return ReceivedEvent(
        message=stored,
        addressee=Addressee(
            subscriber=properties.get(SUBSCRIBER),
            only_this=properties.get(ONLY_THIS) == _TRUE,
            consumer_group=properties.get(CONSUMER_GROUP),
        ),
    )


@functools.lru_cache(maxsize=1024)
def _tag(event_type: str) -> str:
    return _NOT_IN_TAGS.sub("_", event_type)


def _whole_number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _headers(text: str | None) -> Mapping[str, str]:
    headers: object = json.loads(text) if text else {}
    if not isinstance(headers, dict):
        raise ValueError(f"{HEADERS} is no JSON object")  # noqa: TRY004 - a value, not a type
    return {str(name): str(value) for name, value in headers.items()}
