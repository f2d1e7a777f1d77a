"""Events over Kafka."""

from pragmatic_ddd_kafka.config import KafkaConfig
from pragmatic_ddd_kafka.errors import KafkaStartError
from pragmatic_ddd_kafka.event_manager import KafkaEventManager
from pragmatic_ddd_kafka.topic_name import checked_topic

__all__ = ["KafkaConfig", "KafkaEventManager", "KafkaStartError", "checked_topic"]
