"""A small shop on RabbitMQ: its events, its event managers, and its messages."""

import datetime as dt
import uuid
from typing import Any

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_rabbitmq import RabbitMqConfig, RabbitMqEventManager
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage
from tests import servers


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    note: str = ""


class OrderPaid(DomainEvent, name="shop.order.paid", aliases=("shop.order.settled",)):
    total: int = 0


def a_serializer() -> OrjsonEventSerializer:
    return OrjsonEventSerializer(EventTypeRegistry(OrderPlaced, OrderPaid))


def unique(name: str) -> str:
    """Return a name that no other test and no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def a_config(**changes: Any) -> RabbitMqConfig:  # noqa: ANN401
    settings: dict[str, Any] = {
        "url": servers.rabbitmq_url(),
        "confirm_timeout": dt.timedelta(seconds=3),
        "retry_backoff_base": dt.timedelta(milliseconds=50),
        "retry_backoff_cap": dt.timedelta(milliseconds=200),
        "max_attempts": 3,
        "shutdown_timeout": dt.timedelta(seconds=5),
    }
    return RabbitMqConfig(**{**settings, **changes})


def an_event_manager(exchange: str, **changes: Any) -> RabbitMqEventManager:  # noqa: ANN401
    topics = ConfigurableTopicResolver(
        MappingConfigurationSource({"event.topic.default": exchange})
    )
    return RabbitMqEventManager(a_config(**changes), a_serializer(), topics)


def an_order_paid(number: int = 0, *, of: str = "order-1") -> OrderPaid:
    return OrderPaid(aggregate_id=of, total=number)


def stored(event: DomainEvent) -> OutboxMessage:
    """Return an event as an outbox has it."""
    return a_stored_event(
        message_id=event.event_id,
        aggregate_id=event.aggregate_id,
        event_type=event.event_type,
        payload=a_serializer().serialize(event),
    )


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
        "exchange": "shop-events",
        "routing_key": "shop.order.paid",
        "body": b"{}",
        "message_id": unique("event"),
        "type": "shop.order.paid",
    }
    return OutgoingMessage(**{**fields, **changes})
