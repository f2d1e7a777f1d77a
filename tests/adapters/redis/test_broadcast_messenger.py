"""The contract of messengers over Redis Streams."""

from collections.abc import Iterator

import pytest
import redis

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger
from pragmatic_ddd.ports import ITopicResolver
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract
from pragmatic_ddd_orjson import OrjsonEventSerializer
from pragmatic_ddd_redis import RedisStreamsEventManager
from tests.adapters.redis.shop import a_config, forget, unique
from tests.broadcast_receivers import Received, receivers, serializer, topic_resolver


@pytest.mark.service("redis")
class TestRedisStreams(BroadcastMessengerContract):
    @pytest.fixture
    def destinations(self, client: "redis.Redis") -> Iterator[tuple[str, str]]:
        orders, payments = unique("public-orders"), unique("public-payments")
        yield orders, payments
        forget(client, orders, payments)

    @pytest.fixture
    def messenger(self) -> Iterator[BrokerBroadcastMessenger]:
        with RedisStreamsEventManager(a_config(), serializer(), topic_resolver("none")) as events:
            yield BrokerBroadcastMessenger(events)

    @pytest.fixture
    def received(self, client: "redis.Redis", destinations: tuple[str, str]) -> Iterator[Received]:
        group = unique("shipping")

        def manager_at(
            topic: ITopicResolver, their: OrjsonEventSerializer
        ) -> RedisStreamsEventManager:
            config = a_config(consumer_group=f"{group}-{unique('of')}")
            return RedisStreamsEventManager(config, their, topic)

        with receivers(destinations, manager_at) as received:
            yield received
        forget(client, group)
