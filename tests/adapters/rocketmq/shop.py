"""A small shop on RocketMQ: its events, how they are written, and its event manager."""

import json
import time
import uuid
from typing import Any

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, UnknownEventTypeError
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_rocketmq.config import RocketMqConfig
from pragmatic_ddd_rocketmq.errors import NotConfirmedError, NotSentError
from pragmatic_ddd_rocketmq.event_manager import RocketMqEventManager
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import NativeLibrary, load_native_library
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import HIGHEST_DELAY_LEVEL, OutgoingMessage
from tests import servers

_WARM_UP_SECONDS = 20


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    note: str = ""


class OrderPaid(DomainEvent, name="shop.order.paid", aliases=("shop.order.settled",)):
    total: int = 0


_EVENTS: dict[str, type[DomainEvent]] = {
    "shop.order.placed": OrderPlaced,
    "shop.order.paid": OrderPaid,
    "shop.order.settled": OrderPaid,
}


class ShopSerializer:
    """Just enough JSON for the two events above."""

    def serialize(self, event: DomainEvent) -> bytes:
        fields: dict[str, Any] = {"aggregate_id": event.aggregate_id, "event_id": event.event_id}
        for name in ("note", "total"):
            if hasattr(event, name):
                fields[name] = getattr(event, name)
        return json.dumps(fields, ensure_ascii=False).encode()

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        if event_type not in _EVENTS or event_version > 1:
            raise UnknownEventTypeError(event_type, event_version)
        try:
            return _EVENTS[event_type](**json.loads(payload))
        except ValueError as error:
            raise EventDeserializationError(event_type, "", str(error)) from error


def unique(name: str) -> str:
    """Return a name that no other test and no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def a_config(**changes: Any) -> RocketMqConfig:  # noqa: ANN401
    library = servers.rocketmq_library()
    settings: dict[str, Any] = {
        "name_server": servers.rocketmq_name_server(),
        "library": str(library) if library else None,
        "log_folder": "build/rocketmq-client-logs",
    }
    return RocketMqConfig(**{**settings, **changes})


def an_event_manager(topic: str, **changes: Any) -> RocketMqEventManager:  # noqa: ANN401
    topics = ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))
    return RocketMqEventManager(a_config(**changes), ShopSerializer(), topics)


def a_library() -> NativeLibrary:
    config = a_config()
    return load_native_library(config.library_path, config.log_folder_path)


def name_servers() -> NameServers:
    return NameServers.parse(servers.rocketmq_name_server())


def warm_up(sender: NativeProducer | RocketMqEventManager, *topics: str) -> None:
    """Have it connect, and learn the way to the topics, before the test sends to them.

    A client asks for the route of a topic when it sends there first, and its own heartbeat may
    be in the way while it connects. On a busy machine that send fails now and then, with "No
    route info" whatever was the cause. An outbox sends again; a test would be unsure.

    Args:
        sender: It has been started.
        topics: Where a producer will send to; an event manager's topic is known.
    """
    producer = sender._producer if isinstance(sender, RocketMqEventManager) else sender
    assert producer is not None
    if isinstance(sender, RocketMqEventManager):
        topics = (sender.topics.resolve("shop.order.paid"), *topics)
    for topic in topics or ("warm-up",):
        _send_for_much_later(producer, topic)


def _send_for_much_later(producer: NativeProducer, topic: str) -> None:
    """Send what the broker keeps elsewhere for hours: the topic stays as empty as it was."""
    deadline = time.monotonic() + _WARM_UP_SECONDS
    message = a_message(topic=topic, delay_level=HIGHEST_DELAY_LEVEL)
    while True:
        try:
            producer.send(message)
        except (NotConfirmedError, NotSentError) as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"the broker does not confirm: {error}") from error
            time.sleep(0.05)
        else:
            return


def a_stored_event(**changes: Any) -> OutboxMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "message_id": unique("event"),
        "aggregate_type": "shop.order",
        "aggregate_id": "order-1",
        "aggregate_version": 3,
        "event_index": 1,
        "event_type": "shop.order.paid",
        "event_version": 1,
        "payload": b'{"aggregate_id": "order-1", "total": 5}',
        "headers": {},
    }
    return OutboxMessage(**{**fields, **changes})


def a_message(**changes: Any) -> OutgoingMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "topic": "shop-events",
        "body": b"{}",
        "sharding_key": "order-1",
        "key": "event-1",
        "tag": "shop.order.paid",
    }
    return OutgoingMessage(**{**fields, **changes})
