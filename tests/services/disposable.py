"""A server for the tests that stop, kill or freeze it: nobody else uses this one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import debian
from tests.services.kafka import Kafka
from tests.services.port import Port
from tests.services.rabbitmq import RabbitMq
from tests.services.redis import Redis
from tests.services.rocketmq_proxy import RocketMqProxy
from tests.services.service import Service

_SERVERS = {server.name: server for server in (Kafka, RabbitMq, Redis, RocketMqProxy)}


@contextmanager
def disposable(name: str, folder: Path) -> Iterator[Service]:
    """Start a second server of that kind on free ports, and kill it in the end.

    Args:
        name: ``kafka``, ``rabbitmq``, ``redis`` or ``rocketmq-proxy``.
        folder: Where its state and its log are to be; what it stored is still there if it is
            stopped or killed and started again.

    Raises:
        KeyError: There is no such kind.
        ServiceError: It did not start, or a program for it is missing.
    """
    server = _SERVERS[name]
    with Port.kept(server.ports_in_a_row) as port:
        service = Service(server(folder, port))
        debian.check([service.server.packages])
        try:
            service.start()
            yield service
        finally:
            service.kill()
