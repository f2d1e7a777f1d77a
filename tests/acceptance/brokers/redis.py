"""Redis Streams."""

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer
from pragmatic_ddd_redis import RedisConfig, RedisStreamsEventManager
from tests import servers
from tests.acceptance.brokers.broker import Broker, Lane
from tests.acceptance.brokers.topics import only

_PARTITIONS = 8


class Redis(Broker):
    name = "redis"
    services = ("redis",)
    victim = "redis"

    def create_topic(self, topic: str) -> None:
        """Do nothing: a stream begins with its first entry."""

    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        config = RedisConfig(
            url=servers.redis_url(), consumer_group=lane.group, partitions=_PARTITIONS
        )
        return RedisStreamsEventManager(config, serializer, only(lane.topic), metrics=metrics)


BROKER = Redis()
