"""The brokers by name. A module is imported when it is asked for: it may need its own client."""

import importlib

from tests.acceptance.brokers.broker import Broker

#: In the order of reports.
NAMES = ("rocketmq", "rocketmq_grpc", "kafka", "rabbitmq", "redis")


def broker(name: str) -> Broker:
    """Return the broker of that name.

    Raises:
        KeyError: There is none.
    """
    if name not in NAMES:
        raise KeyError(name)
    module = importlib.import_module(f"tests.acceptance.brokers.{name}")
    made: Broker = module.BROKER
    return made
