"""Kafka."""

import contextlib
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer
from pragmatic_ddd_kafka import KafkaConfig, KafkaEventManager
from tests import servers
from tests.acceptance.brokers.broker import Broker, Lane
from tests.acceptance.brokers.topics import only

_PARTITIONS = 8
_PATIENCE_SECONDS = 30


@contextlib.contextmanager
def ignoring_existing() -> Iterator[None]:
    """Let it pass that there is such a topic."""
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


class Kafka(Broker):
    name = "kafka"
    services = ("kafka",)
    victim = "kafka"

    def create_topic(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": servers.kafka_bootstrap()})
        new = NewTopic(topic, num_partitions=_PARTITIONS, replication_factor=1)
        for made in admin.create_topics([new]).values():
            with ignoring_existing():
                made.result(_PATIENCE_SECONDS)

    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        config = KafkaConfig(bootstrap_servers=servers.kafka_bootstrap(), consumer_group=lane.group)
        return KafkaEventManager(config, serializer, only(lane.topic), metrics=metrics)


BROKER = Kafka()
