"""The broker behind a URL. Only the client of the one that is used has to be installed.

kafka://127.0.0.1:29092                        rocketmq://127.0.0.1:9876
amqp://guest:guest@127.0.0.1:25679/            rocketmq+grpc://127.0.0.1:8081
redis://127.0.0.1:63799/0
"""

import sys
from collections.abc import Callable
from typing import NoReturn

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports import IEventManager, IEventSerializer, ITopicResolver

Maker = Callable[[str, str | None, IEventSerializer, ITopicResolver], IEventManager]


def over_broker(
    url: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    """Return an event manager over the broker that a URL names; it is not started.

    Args:
        url: Scheme and address; it may hold a password.
        group: The processes that share the events among them; ``None`` where none are wanted.
        serializer: Writes and reads events.
        topics: Which event goes where.

    Raises:
        ConfigurationError: There is no such scheme.
    """
    scheme, separator, address = url.partition("://")
    maker = _MAKERS.get(scheme)
    if maker is None or not separator:
        # Without a separator all of it is an address, which may hold a password.
        found = f"begins with {scheme + separator!r}" if separator else "has no scheme"
        raise ConfigurationError(
            [f"shop.broker-url: it {found}; begin with one of {', '.join(_MAKERS)}, and ://"]
        )
    return maker(url if scheme in _WHOLE else address, group, serializer, topics)


def leave(url: str) -> NoReturn:
    """End a process that has consumed; the native client of RocketMQ wants it its own way."""
    if url.startswith("rocketmq://"):
        from pragmatic_ddd_rocketmq import leave_process  # noqa: PLC0415

        leave_process()
    sys.exit()


def _kafka(
    servers: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    from pragmatic_ddd_kafka import KafkaConfig, KafkaEventManager  # noqa: PLC0415

    config = KafkaConfig(bootstrap_servers=servers, consumer_group=group)
    return KafkaEventManager(config, serializer, topics)


def _rabbitmq(
    url: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    from pragmatic_ddd_rabbitmq import RabbitMqConfig, RabbitMqEventManager  # noqa: PLC0415

    config = RabbitMqConfig(url=url, consumer_group=group)
    return RabbitMqEventManager(config, serializer, topics)


def _redis(
    url: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    from pragmatic_ddd_redis import RedisConfig, RedisStreamsEventManager  # noqa: PLC0415

    config = RedisConfig(url=url, consumer_group=group)
    return RedisStreamsEventManager(config, serializer, topics)


def _rocketmq(
    name_server: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    from pragmatic_ddd_rocketmq import RocketMqConfig, RocketMqEventManager  # noqa: PLC0415

    config = RocketMqConfig(name_server=name_server, consumer_group=group)
    return RocketMqEventManager(config, serializer, topics)


def _rocketmq_grpc(
    endpoints: str, group: str | None, serializer: IEventSerializer, topics: ITopicResolver
) -> IEventManager:
    from pragmatic_ddd_rocketmq_grpc import (  # noqa: PLC0415
        RocketMqGrpcConfig,
        RocketMqGrpcEventManager,
    )

    config = RocketMqGrpcConfig(endpoints=endpoints, consumer_group=group)
    return RocketMqGrpcEventManager(config, serializer, topics)


_MAKERS: dict[str, Maker] = {
    "kafka": _kafka,
    "amqp": _rabbitmq,
    "amqps": _rabbitmq,
    "redis": _redis,
    "rediss": _redis,
    "rocketmq": _rocketmq,
    "rocketmq+grpc": _rocketmq_grpc,
}
_WHOLE = ("amqp", "amqps", "redis", "rediss")  # whose clients know the URL
