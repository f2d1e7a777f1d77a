"""RocketMQ over its remoting protocol."""

from typing import NoReturn

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer
from pragmatic_ddd_rocketmq import RocketMqConfig, RocketMqEventManager, leave_process
from tests import servers
from tests.acceptance.brokers.broker import Broker, Lane
from tests.acceptance.brokers.topics import only
from tests.services.admin import create_topic


class RocketMq(Broker):
    name = "rocketmq"
    services = ("rocketmq",)
    victim = "rocketmq-broker"

    def create_topic(self, topic: str) -> None:
        create_topic(topic, queues=8)

    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        library = servers.rocketmq_library()
        config = RocketMqConfig(
            name_server=servers.rocketmq_name_server(),
            consumer_group=lane.group,
            library=None if library is None else str(library),
            log_folder=lane.folder,
        )
        return RocketMqEventManager(config, serializer, only(lane.topic), metrics=metrics)

    def leave(self) -> NoReturn:
        leave_process(0)


BROKER = RocketMq()
