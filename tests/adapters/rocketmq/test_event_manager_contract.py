"""The event manager contract over RocketMQ: each test has a topic and a consumer group."""

import datetime as dt
from collections.abc import Callable, Iterator

import pytest

from pragmatic_ddd import DomainEvent, IEventManager
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.testing.event_manager import CONTRACT_EVENTS, EventManagerContract
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_rocketmq import RocketMqEventManager
from tests.adapters.rocketmq.shop import an_event_manager, unique, warm_up
from tests.services.admin import create_topic


class WarmedUp(RocketMqEventManager):
    """An event manager whose start includes its first send, which may fail on a busy machine."""

    def start(self) -> None:
        super().start()
        warm_up(self)


@pytest.mark.service("rocketmq")
class TestRocketMq(EventManagerContract):
    works_in_process = False
    patience = dt.timedelta(seconds=60)

    @pytest.fixture
    def serializer(self) -> OrjsonEventSerializer:
        registry = EventTypeRegistry()
        registry.register(*CONTRACT_EVENTS)
        return OrjsonEventSerializer(registry)

    @pytest.fixture
    def stored(self, serializer: OrjsonEventSerializer) -> Callable[[DomainEvent], OutboxMessage]:
        encoding = EventEncoding(serializer=serializer)
        return lambda event: encoding.encode(event, aggregate_type="contract.parcel")

    @pytest.fixture
    def manager(self, serializer: OrjsonEventSerializer) -> Iterator[IEventManager]:
        topic = unique("contract")
        create_topic(topic)
        plain = an_event_manager(
            topic, consumer_group=unique("contract"), shutdown_timeout=dt.timedelta(seconds=5)
        )
        manager = WarmedUp(plain.config, serializer, plain.topics)
        yield manager
        manager.shutdown()
