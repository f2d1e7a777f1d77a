"""Sending by hand with the gRPC client: a wave of messages of a FIFO topic, and its futures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import attrs

from tests import servers
from tests.benchmarks.handwritten_attributes import Sendable, attributes_by_hand

_PATIENCE_SECONDS = 30


@attrs.frozen(kw_only=True)
class HandwrittenRocketMqGrpc:
    """A producer, and where it sends."""

    client: Any  # the module, which only the environment of this client has
    producer: Any
    topic: str

    @classmethod
    @contextmanager
    def on(cls, topic: str) -> Iterator[Self]:
        import rocketmq as client  # elsewhere it is not installed

        configuration = client.ClientConfiguration(
            servers.rocketmq_grpc_endpoint(), client.Credentials()
        )
        producer = client.Producer(configuration, (topic,))
        producer.startup()
        try:
            yield cls(client=client, producer=producer, topic=topic)
        finally:
            producer.shutdown()

    def send(self, wave: Sequence[Sendable]) -> list[str]:
        """Send messages of different aggregates, and return what each is confirmed with."""
        sent = [self.producer.send_async(self._made_of(message)) for message in wave]
        return [one.result(_PATIENCE_SECONDS).message_id for one in sent]

    def _made_of(self, message: Sendable) -> Any:  # noqa: ANN401
        made = self.client.Message()
        made.topic = self.topic
        made.body = message.payload
        made.tag = message.event_type
        made.keys = message.message_id
        made.message_group = message.aggregate_id
        for name, value in attributes_by_hand(message):
            made.add_property(f"ce_{name}", value)
        return made
