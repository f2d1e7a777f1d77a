"""RabbitMQ."""

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer
from pragmatic_ddd_rabbitmq import RabbitMqConfig, RabbitMqEventManager
from tests import servers
from tests.acceptance.brokers.broker import Broker, Lane
from tests.acceptance.brokers.topics import only


class RabbitMq(Broker):
    name = "rabbitmq"
    services = ("rabbitmq",)
    victim = "rabbitmq"

    def create_topic(self, topic: str) -> None:
        """Do nothing: the event manager declares the exchange."""

    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        config = RabbitMqConfig(url=servers.rabbitmq_url(), consumer_group=lane.group)
        return RabbitMqEventManager(config, serializer, only(lane.topic), metrics=metrics)


BROKER = RabbitMq()
