"""The contract of messengers over RabbitMQ."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger
from pragmatic_ddd.errors import BroadcastSendError
from pragmatic_ddd.ports import ITopicResolver
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract, an_envelope
from pragmatic_ddd_orjson import OrjsonEventSerializer
from pragmatic_ddd_rabbitmq import RabbitMqEventManager
from tests.adapters.rabbitmq.shop import a_config, unique
from tests.adapters.rabbitmq.space import Space
from tests.broadcast_receivers import Received, receivers, serializer, topic_resolver


@pytest.mark.service("rabbitmq")
class TestRabbitMq(BroadcastMessengerContract):
    @pytest.fixture
    def destinations(self, space: Space) -> tuple[str, str]:
        orders, payments = unique("public-orders"), unique("public-payments")
        return space.also_exchange(orders), space.also_exchange(payments)

    @pytest.fixture
    def messenger(self) -> Iterator[BrokerBroadcastMessenger]:
        with RabbitMqEventManager(a_config(), serializer(), topic_resolver("none")) as events:
            yield BrokerBroadcastMessenger(events)

    @pytest.fixture
    def received(self, space: Space, destinations: tuple[str, str]) -> Iterator[Received]:
        def manager_at(topic: ITopicResolver, their: OrjsonEventSerializer) -> RabbitMqEventManager:
            group = space.also_group(unique("shipping"))
            return RabbitMqEventManager(a_config(consumer_group=group), their, topic)

        with receivers(destinations, manager_at) as received:
            yield received

    def test_a_message_that_no_queue_is_bound_for_is_not_confirmed(
        self, messenger: BrokerBroadcastMessenger, destinations: tuple[str, str]
    ) -> None:
        with pytest.raises(BroadcastSendError, match=destinations[0]):
            messenger.send(destinations[0], an_envelope())
