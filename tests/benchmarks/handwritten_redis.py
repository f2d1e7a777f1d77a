"""Sending by hand with redis-py: a wave of messages is one pipeline of XADD."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import attrs
import redis

from tests import servers
from tests.benchmarks.handwritten_attributes import Sendable, attributes_by_hand


@attrs.frozen(kw_only=True)
class HandwrittenRedis:
    """A client, and where it sends."""

    client: Any  # redis.Redis, whose commands are typed for sync and async at once
    stream: str

    @classmethod
    @contextmanager
    def on(cls, stream: str) -> Iterator[Self]:
        with redis.Redis.from_url(servers.redis_url()) as client:
            yield cls(client=client, stream=stream)

    def send(self, wave: Sequence[Sendable]) -> list[str]:
        """Send messages of different aggregates, and return what each is confirmed with."""
        with self.client.pipeline(transaction=False) as pipeline:
            for message in wave:
                fields = {f"ce_{name}": value for name, value in attributes_by_hand(message)}
                pipeline.xadd(self.stream, fields | {"data": message.payload})
            return [entry.decode() for entry in pipeline.execute()]
