"""Events over RabbitMQ."""

from pragmatic_ddd_rabbitmq.config import RabbitMqConfig
from pragmatic_ddd_rabbitmq.durability import CLASSIC, QUORUM
from pragmatic_ddd_rabbitmq.errors import RabbitMqStartError
from pragmatic_ddd_rabbitmq.event_manager import RabbitMqEventManager
from pragmatic_ddd_rabbitmq.outgoing_message import checked_exchange
from pragmatic_ddd_rabbitmq.topology import TopologyMode

__all__ = [
    "CLASSIC",
    "QUORUM",
    "RabbitMqConfig",
    "RabbitMqEventManager",
    "RabbitMqStartError",
    "TopologyMode",
    "checked_exchange",
]
