"""RocketMQ over its gRPC proxy, in an environment of its own."""

from pathlib import Path

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcConfig, RocketMqGrpcEventManager
from tests import servers
from tests.acceptance.brokers.broker import Broker, Lane
from tests.acceptance.brokers.topics import only
from tests.services.admin import MessageType, create_consumer_group, create_topic


class RocketMqGrpc(Broker):
    name = "rocketmq_grpc"
    services = ("rocketmq",)
    victim = "rocketmq-broker"

    @property
    def python(self) -> Path:
        return servers.grpc_python()

    def create_topic(self, topic: str) -> None:
        create_topic(topic, queues=8, message_type=MessageType.FIFO)

    def create_group(self, group: str) -> None:
        create_consumer_group(group, orderly=True)
        create_topic(f"{group}-dead-letter", message_type=MessageType.FIFO)

    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        config = RocketMqGrpcConfig(
            endpoints=servers.rocketmq_grpc_endpoint(), consumer_group=lane.group
        )
        return RocketMqGrpcEventManager(config, serializer, only(lane.topic), metrics=metrics)


BROKER = RocketMqGrpc()
