"""The contract of messengers over RocketMQ's remoting protocol."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger
from pragmatic_ddd.ports import ITopicResolver
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract
from pragmatic_ddd_orjson import OrjsonEventSerializer
from pragmatic_ddd_rocketmq import RocketMqEventManager
from tests.adapters.rocketmq.shop import a_config, unique, warm_up
from tests.broadcast_receivers import Received, receivers, serializer, topic_resolver
from tests.services.admin import create_topic


@pytest.mark.service("rocketmq")
class TestRocketMq(BroadcastMessengerContract):
    @pytest.fixture
    def destinations(self) -> tuple[str, str]:
        orders, payments = unique("public-orders"), unique("public-payments")
        for topic in (orders, payments):
            create_topic(topic)
        return orders, payments

    @pytest.fixture
    def messenger(self, destinations: tuple[str, str]) -> Iterator[BrokerBroadcastMessenger]:
        resolver = topic_resolver(destinations[0])
        with RocketMqEventManager(a_config(), serializer(), resolver) as events:
            warm_up(events, *destinations)
            yield BrokerBroadcastMessenger(events)

    @pytest.fixture
    def received(self, destinations: tuple[str, str]) -> Iterator[Received]:
        def manager_at(topic: ITopicResolver, their: OrjsonEventSerializer) -> RocketMqEventManager:
            return RocketMqEventManager(a_config(consumer_group=unique("shipping")), their, topic)

        with receivers(destinations, manager_at) as received:
            yield received
