"""What the loops by hand have in common: a client that sends waves of its own best width."""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tests.benchmarks.databases import BenchError
from tests.benchmarks.handwritten_attributes import Sendable
from tests.benchmarks.handwritten_order import waves


class IBareClient(Protocol):
    """A client of one broker."""

    @abstractmethod
    def send(self, wave: Sequence[Sendable]) -> list[str]:
        """Send messages of different aggregates, and return what each is confirmed with."""


def bare_client(broker: str, topic: str) -> tuple[AbstractContextManager[IBareClient], int]:
    """Return a client of a broker, to be connected, and how wide its waves are.

    Raises:
        BenchError: There is no such broker.
    """
    # Not before it is asked for: each needs a package, and one of them an environment, of its own.
    if broker == "kafka":
        from tests.benchmarks.handwritten_kafka import HandwrittenKafka

        return HandwrittenKafka.on(topic), 200
    if broker == "rabbitmq":
        from tests.benchmarks.handwritten_rabbitmq import HandwrittenRabbitMq

        return HandwrittenRabbitMq.on(topic), 200
    if broker == "redis":
        from tests.benchmarks.handwritten_redis import HandwrittenRedis

        return HandwrittenRedis.on(topic), 200
    if broker == "rocketmq_grpc":
        from tests.benchmarks.handwritten_rocketmq_grpc import (
            HandwrittenRocketMqGrpc,
        )

        return HandwrittenRocketMqGrpc.on(topic), 64
    raise BenchError(f"no broker is called {broker}")


def send_in_order(client: IBareClient, messages: Sequence[Sendable], *, width: int) -> list[str]:
    """Send all in waves, and return what each is confirmed with, in the order of ``messages``."""
    receipts: dict[str, str] = {}
    for wave in waves(messages, width=width):
        for message, receipt in zip(wave, client.send(wave), strict=True):
            receipts[message.message_id] = receipt
    return [receipts[message.message_id] for message in messages]
