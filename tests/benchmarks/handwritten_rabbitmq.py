"""Sending by hand with py-amqp: persistent, mandatory, a wave of messages, and its confirms."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self
from urllib.parse import unquote, urlsplit

import amqp
import attrs

from tests import servers
from tests.benchmarks.databases import BenchError
from tests.benchmarks.handwritten_attributes import Sendable, attributes_by_hand

_PATIENCE_SECONDS = 30
_PERSISTENT = 2


@attrs.frozen(kw_only=True)
class HandwrittenRabbitMq:
    """A channel with confirms, an exchange to send to, and a queue that keeps what is sent."""

    connection: amqp.Connection
    channel: amqp.Channel
    exchange: str
    confirmed: list[int] = attrs.field(factory=list)
    returned: list[str] = attrs.field(factory=list)

    @classmethod
    @contextmanager
    def on(cls, exchange: str) -> Iterator[Self]:
        url = urlsplit(servers.rabbitmq_url())
        connection = amqp.Connection(
            host=f"{url.hostname}:{url.port or 5672}",
            userid=unquote(url.username or "guest"),
            password=unquote(url.password or "guest"),
            virtual_host=unquote(url.path[1:]) or "/",
        )
        connection.connect()
        channel = connection.channel()
        # What no queue is bound for comes back: one that keeps everything, whoever sends it.
        channel.exchange_declare(exchange, "topic", durable=True, auto_delete=False)
        channel.queue_declare(
            exchange, durable=True, auto_delete=False, arguments={"x-queue-type": "quorum"}
        )
        channel.queue_bind(exchange, exchange, "#")
        channel.confirm_select()
        by_hand = cls(connection=connection, channel=channel, exchange=exchange)
        channel.events["basic_ack"].add(lambda tag, multiple: by_hand.note(tag, multiple=multiple))
        channel.events["basic_return"].add(lambda error, *_: by_hand.returned.append(str(error)))
        try:
            yield by_hand
        finally:
            channel.queue_delete(exchange)
            channel.exchange_delete(exchange)
            connection.close()

    def note(self, tag: int, *, multiple: bool) -> None:
        first = len(self.confirmed) + 1 if multiple else tag
        self.confirmed.extend(range(first, tag + 1))

    def send(self, wave: Sequence[Sendable]) -> list[str]:
        """Send messages of different aggregates, and return what each is confirmed with."""
        first = len(self.confirmed) + 1
        for message in wave:
            self.channel.basic_publish(
                amqp.Message(
                    message.payload,
                    content_type="application/json",
                    delivery_mode=_PERSISTENT,
                    message_id=message.message_id,
                    type=message.event_type,
                    application_headers={
                        f"cloudEvents_{name}": value for name, value in attributes_by_hand(message)
                    },
                ),
                exchange=self.exchange,
                routing_key=message.event_type,
                mandatory=True,
            )
        while len(self.confirmed) < first + len(wave) - 1:
            self.connection.drain_events(timeout=_PATIENCE_SECONDS)
        if self.returned:
            raise BenchError(f"{len(self.returned)} came back: {self.returned[0]}")
        return [f"{self.exchange}@{tag}" for tag in range(first, first + len(wave))]
