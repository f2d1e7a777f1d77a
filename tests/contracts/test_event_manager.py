"""The event manager contract, over every event manager."""

import datetime as dt
from collections.abc import Callable, Iterator

import pytest

from pragmatic_ddd import DomainEvent, IEventManager
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.testing.event_manager import CONTRACT_EVENTS, EventManagerContract
from pragmatic_ddd_local import (
    InMemoryEventManager,
    LocalEventManagerConfig,
    ThreadPoolEventManager,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


@pytest.fixture
def serializer() -> OrjsonEventSerializer:
    registry = EventTypeRegistry(*CONTRACT_EVENTS)
    return OrjsonEventSerializer(registry)


@pytest.fixture
def stored(serializer: OrjsonEventSerializer) -> Callable[[DomainEvent], OutboxMessage]:
    encoding = EventEncoding(serializer=serializer)
    return lambda event: encoding.encode(event, aggregate_type="contract.parcel")


class TestInMemory(EventManagerContract):
    @pytest.fixture
    def manager(self, serializer: OrjsonEventSerializer) -> Iterator[IEventManager]:
        manager = InMemoryEventManager(serializer)
        yield manager
        manager.shutdown()


class TestThreadPool(EventManagerContract):
    config = LocalEventManagerConfig(delay=dt.timedelta(milliseconds=5))

    @pytest.fixture
    def manager(self, serializer: OrjsonEventSerializer) -> Iterator[IEventManager]:
        manager = ThreadPoolEventManager(serializer, self.config)
        yield manager
        manager.shutdown()


class TestThreadPoolWithoutRoom(TestThreadPool):
    """One worker and one place in the queue: most calls are made by whoever publishes."""

    config = LocalEventManagerConfig(workers=1, queue_size=1, delay=dt.timedelta(milliseconds=5))
