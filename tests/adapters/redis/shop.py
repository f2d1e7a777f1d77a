"""A small shop on Redis: its events, how they are written, its event manager, and plain clients."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import redis

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_redis import RedisConfig, RedisStreamsEventManager
from pragmatic_ddd_redis.connections import RedisConnections
from pragmatic_ddd_redis.streams import streams_of
from tests import servers


class OrderPaid(DomainEvent, name="redis-shop.order.paid"):
    total: int = 0


def unique(name: str) -> str:
    """Return a name that no other test and no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def server_address() -> tuple[str, int]:
    parts = urlsplit(servers.redis_url())
    return parts.hostname or "127.0.0.1", parts.port or 6379


def url_at(port: int) -> str:
    """Return the URL of the server as it is reached through a port of this machine."""
    parts = urlsplit(servers.redis_url())
    account, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{account}{at}127.0.0.1:{port}").geturl()


def a_config(**changes: Any) -> RedisConfig:  # noqa: ANN401
    return RedisConfig(**{"url": servers.redis_url(), **changes})


def an_event_manager(topic: str, **changes: Any) -> RedisStreamsEventManager:  # noqa: ANN401
    topics = ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))
    serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPaid))
    return RedisStreamsEventManager(a_config(**changes), serializer, topics)


def connections(config: RedisConfig) -> RedisConnections:
    return RedisConnections(
        kind=config.scheme, options=config.connection_options(), timeout=config.send_timeout
    )


@contextmanager
def a_client(url: str | None = None) -> Iterator["redis.Redis"]:
    """Return a client of Redis that has nothing to do with the adapter."""
    client = redis.Redis.from_url(url or servers.redis_url(), protocol=2)
    try:
        yield client
    finally:
        client.close()


def entries(client: "redis.Redis", topic: str, partitions: int = 1) -> list[dict[bytes, bytes]]:
    """Return what lies on a topic, oldest first within each of its streams."""
    found: list[Any] = []  # redis-py cannot say which of its two protocols it is
    for stream in streams_of(topic, partitions):
        found += client.xrange(stream) or ()
    return [fields for _, fields in found]


def ids(client: "redis.Redis", stream: str) -> list[bytes]:
    """Return the ids of what lies in a stream."""
    found: Any = client.xrange(stream)  # redis-py cannot say which of its two protocols it is
    return [entry_id for entry_id, _ in found]


def forget(client: "redis.Redis", *names: str) -> None:
    """Delete every key that has one of these unique names in it."""
    for name in names:
        for key in client.scan_iter(f"*{name}*", count=1000):
            client.delete(key)


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
