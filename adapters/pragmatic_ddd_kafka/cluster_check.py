"""Asks a cluster whether it answers, and whether it has the topics that are needed."""

from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pragmatic_ddd_kafka.client_properties import Properties
from pragmatic_ddd_kafka.errors import KafkaStartError

_TIMEOUT_SECONDS = 5.0


def check_cluster(properties: Properties, topics: Iterable[str]) -> None:
    """Ask which topics there are that we may see.

    Raises:
        KafkaStartError: No broker answers, or topics are missing; names them.
    """
    servers = properties["bootstrap.servers"]
    try:
        found = AdminClient(properties).list_topics(timeout=_TIMEOUT_SECONDS).topics
    except KafkaException as error:
        raise KafkaStartError(f"Kafka at {servers}: {error.args[0].str()}") from error
    missing = [topic for topic in topics if topic not in found]
    if missing:
        raise KafkaStartError(
            f"Kafka at {servers} has no topic {', '.join(missing)}, or none that we may see: "
            f"create it, with as many partitions as it will ever need"
        )
