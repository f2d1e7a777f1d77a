"""Events over RocketMQ 5's gRPC proxy."""

from pragmatic_ddd_rocketmq_grpc.config import RocketMqGrpcConfig
from pragmatic_ddd_rocketmq_grpc.errors import GrpcClientError, RocketMqGrpcStartError
from pragmatic_ddd_rocketmq_grpc.event_manager import RocketMqGrpcEventManager
from pragmatic_ddd_rocketmq_grpc.outgoing_message import checked_topic

__all__ = [
    "GrpcClientError",
    "RocketMqGrpcConfig",
    "RocketMqGrpcEventManager",
    "RocketMqGrpcStartError",
    "checked_topic",
]
