"""The contract of messengers over RocketMQ's gRPC proxy."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger
from pragmatic_ddd.ports import ITopicResolver
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract
from pragmatic_ddd_orjson import OrjsonEventSerializer
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcEventManager
from tests.adapters.rocketmq_grpc.shop import a_config, a_group, a_topic
from tests.broadcast_receivers import Received, receivers, serializer, topic_resolver


@pytest.mark.service("rocketmq-grpc")
class TestRocketMqGrpc(BroadcastMessengerContract):
    @pytest.fixture
    def destinations(self) -> tuple[str, str]:
        return a_topic(), a_topic()

    @pytest.fixture
    def messenger(self, topic: str) -> Iterator[BrokerBroadcastMessenger]:
        with RocketMqGrpcEventManager(a_config(), serializer(), topic_resolver(topic)) as events:
            yield BrokerBroadcastMessenger(events)

    @pytest.fixture
    def received(self, destinations: tuple[str, str]) -> Iterator[Received]:
        def manager_at(
            topic: ITopicResolver, their: OrjsonEventSerializer
        ) -> RocketMqGrpcEventManager:
            return RocketMqGrpcEventManager(a_config(consumer_group=a_group()), their, topic)

        with receivers(destinations, manager_at) as received:
            yield received
