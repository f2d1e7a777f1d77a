"""A topic and a group of its own for each test, and their keys deleted after it."""

from collections.abc import Iterator

import pytest
import redis

from pragmatic_ddd_redis import RedisStreamsEventManager
from tests.adapters.redis.shop import (
    a_client,
    an_event_manager,
    forget,
    server_address,
    unique,
)
from tests.tcp_gate import TcpGate


@pytest.fixture
def client() -> Iterator["redis.Redis"]:
    with a_client() as client:
        yield client


@pytest.fixture
def topic(client: "redis.Redis") -> Iterator[str]:
    topic = unique("events")
    yield topic
    forget(client, topic)


@pytest.fixture
def group(client: "redis.Redis") -> Iterator[str]:
    group = unique("group")
    yield group
    forget(client, group)


@pytest.fixture
def events(topic: str) -> Iterator[RedisStreamsEventManager]:
    with an_event_manager(topic) as manager:
        yield manager


@pytest.fixture
def gate() -> Iterator[TcpGate]:
    """The way to the server, for tests that disturb it."""
    with TcpGate(server_address()) as gate:
        yield gate
