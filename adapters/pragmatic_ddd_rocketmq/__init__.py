"""Events over RocketMQ."""

from pragmatic_ddd_rocketmq.config import RocketMqConfig
from pragmatic_ddd_rocketmq.errors import NativeLibraryError, RocketMqStartError
from pragmatic_ddd_rocketmq.event_manager import RocketMqEventManager
from pragmatic_ddd_rocketmq.outgoing_message import checked_topic
from pragmatic_ddd_rocketmq.process_end import leave_process

__all__ = [
    "NativeLibraryError",
    "RocketMqConfig",
    "RocketMqEventManager",
    "RocketMqStartError",
    "checked_topic",
    "leave_process",
]
