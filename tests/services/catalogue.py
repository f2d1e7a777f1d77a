"""Every service that the full test run needs, by name."""

from collections.abc import Iterable

from tests.services.kafka import Kafka
from tests.services.mariadb import MariaDb
from tests.services.postgresql import PostgreSql
from tests.services.rabbitmq import RabbitMq
from tests.services.redis import Redis
from tests.services.rocketmq import RocketMqBroker, RocketMqNameServer
from tests.services.service import Service

_SERVERS = (
    PostgreSql,
    MariaDb,
    RocketMqNameServer,
    RocketMqBroker,
    Kafka,
    RabbitMq,
    Redis,
)
_TOGETHER = {"rocketmq": (RocketMqNameServer.name, RocketMqBroker.name)}

#: What a service may be called, names of several together included.
NAMES = (*(server.name for server in _SERVERS), *_TOGETHER)


def service(name: str) -> Service:
    """Return the one service of that name; KeyError when there is none."""
    return Service({server.name: server for server in _SERVERS}[name]())


def services(names: Iterable[str] = ()) -> list[Service]:
    """Return the services of those names, each once; all of them without a name."""
    wanted = [one for name in names for one in _TOGETHER.get(name, (name,))]
    return [service(name) for name in dict.fromkeys(wanted or (s.name for s in _SERVERS))]
