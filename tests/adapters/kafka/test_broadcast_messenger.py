"""The contract of messengers over Kafka."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger
from pragmatic_ddd.ports import ITopicResolver
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract
from pragmatic_ddd_kafka import KafkaEventManager
from pragmatic_ddd_orjson import OrjsonEventSerializer
from tests.adapters.kafka.shop import Topics, a_config, unique
from tests.broadcast_receivers import Received, receivers, serializer, topic_resolver


@pytest.mark.service("kafka")
class TestKafka(BroadcastMessengerContract):
    @pytest.fixture
    def destinations(self, topics: Topics) -> tuple[str, str]:
        orders, payments = unique("public-orders"), unique("public-payments")
        topics.create(orders, payments)
        return orders, payments

    @pytest.fixture
    def messenger(self) -> Iterator[BrokerBroadcastMessenger]:
        with KafkaEventManager(a_config(), serializer(), topic_resolver("none")) as events:
            yield BrokerBroadcastMessenger(events)

    @pytest.fixture
    def received(self, topics: Topics, destinations: tuple[str, str]) -> Iterator[Received]:
        def manager_at(topic: ITopicResolver, their: OrjsonEventSerializer) -> KafkaEventManager:
            group = unique("shipping")
            topics.create(f"{group}-dead-letter", f"{group}-delay")
            return KafkaEventManager(a_config(consumer_group=group), their, topic)

        with receivers(destinations, manager_at) as received:
            yield received
