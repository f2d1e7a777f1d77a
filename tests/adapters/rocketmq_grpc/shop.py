"""A small shop on RocketMQ's proxy: its events, its event manager, and what lies on a topic."""

import datetime as dt
import uuid
from typing import Any

import attrs

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcConfig, RocketMqGrpcEventManager
from pragmatic_ddd_rocketmq_grpc.client_library import load_client_library
from pragmatic_ddd_rocketmq_grpc.connection import Connection
from pragmatic_ddd_rocketmq_grpc.endpoints import Endpoints
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from tests import servers
from tests.services.admin import MessageType, create_consumer_group, create_topic


class OrderPaid(DomainEvent, name="grpc-shop.order.paid"):
    total: int = 0


class OrderPlaced(DomainEvent, name="grpc-shop.order.placed"):
    note: str = ""


_SHORTEST_INVISIBLE = dt.timedelta(seconds=10)
# With the tests' own proxy; long enough to be extended in time on a busy machine.
BRIEFLY_INVISIBLE = dt.timedelta(seconds=4)

# For the value of a property "a" beside the key and the tag of `a_message`.
ROOM = 16 * 1024 - len("event-1") - len("shop.order.paid") - len("a")


def unique(name: str) -> str:
    """Return a name that no other test and no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def a_topic(queues: int = 4) -> str:
    """Return a topic for events."""
    topic = unique("grpc-events")
    create_topic(topic, queues, message_type=MessageType.FIFO)
    return topic


def a_group(*, with_topics: bool = True) -> str:
    """Return a consumer group that keeps the order, with the topics that are its own."""
    group = unique("grpc-shop")
    create_consumer_group(group, orderly=True)
    if with_topics:
        create_topic(f"{group}-dead-letter", 2, message_type=MessageType.FIFO)
        create_topic(f"{group}-delay", 2, message_type=MessageType.DELAY)
    return group


def a_config(**changes: Any) -> RocketMqGrpcConfig:  # noqa: ANN401
    settings: dict[str, Any] = {
        "endpoints": servers.rocketmq_grpc_endpoint(),
        "invisible_time": _SHORTEST_INVISIBLE,
        "long_poll": dt.timedelta(seconds=0.5),
        "reconsume_backoff_base": dt.timedelta(seconds=0.1),
    }
    settings |= changes
    if settings["invisible_time"] >= _SHORTEST_INVISIBLE:
        return RocketMqGrpcConfig(**settings)
    with attrs.validators.disabled():  # the tests' own proxy takes less than others do
        return RocketMqGrpcConfig(**settings)


def an_event_manager(topic: str, **changes: Any) -> RocketMqGrpcEventManager:  # noqa: ANN401
    topics = ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))
    serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPaid, OrderPlaced))
    return RocketMqGrpcEventManager(a_config(**changes), serializer, topics)


def a_connection(*, timeout: dt.timedelta = dt.timedelta(seconds=3), **changes: Any) -> Connection:  # noqa: ANN401
    settings: dict[str, Any] = {
        "library": load_client_library(),
        "endpoints": Endpoints.parse(servers.rocketmq_grpc_endpoint()),
        "timeout": timeout,
    }
    return Connection(**{**settings, **changes})


def a_stored_event(**changes: Any) -> OutboxMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "message_id": unique("event"),
        "aggregate_type": "shop.order",
        "aggregate_id": "order-1",
        "aggregate_version": 3,
        "event_index": 1,
        "event_type": OrderPaid.event_type,
        "event_version": 1,
        "payload": b'{"aggregate_id":"order-1","total":5}',
        "headers": {},
    }
    return OutboxMessage(**{**fields, **changes})


def a_message(**changes: Any) -> OutgoingMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "topic": "shop-events",
        "body": b"{}",
        "message_group": "order-1",
        "key": "event-1",
        "tag": "shop.order.paid",
    }
    return OutgoingMessage(**{**fields, **changes})
