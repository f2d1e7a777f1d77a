"""Sending by hand with librdkafka: an idempotent producer, a wave of messages, and its reports."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import attrs
from confluent_kafka import Producer

from tests import servers
from tests.benchmarks.handwritten_attributes import Sendable, attributes_by_hand

_PATIENCE_SECONDS = 30


@attrs.frozen(kw_only=True)
class HandwrittenKafka:
    """A producer, and where it sends."""

    producer: Producer
    topic: str

    @classmethod
    @contextmanager
    def on(cls, topic: str) -> Iterator[Self]:
        producer = Producer(
            {
                "bootstrap.servers": servers.kafka_bootstrap(),
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 0,
            }
        )
        yield cls(producer=producer, topic=topic)
        producer.flush(_PATIENCE_SECONDS)

    def send(self, wave: Sequence[Sendable]) -> list[str]:
        """Send messages of different aggregates, and return what each is confirmed with."""
        receipts: dict[str, str] = {}

        def reported(error: object, message: Any) -> None:  # noqa: ANN401  # of a C extension
            if error is None:
                place = f"{message.topic()}/{message.partition()}@{message.offset()}"
                receipts[message.key().decode()] = place

        for message in wave:
            self.producer.produce(
                self.topic,
                message.payload,
                message.aggregate_id,
                headers=[
                    (f"ce_{name}", value.encode()) for name, value in attributes_by_hand(message)
                ],
                on_delivery=reported,
            )
        self.producer.flush(_PATIENCE_SECONDS)
        return [receipts[message.aggregate_id] for message in wave]
