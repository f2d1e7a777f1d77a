"""RabbitMQ as any client sees it: what lies in a queue, without an event manager."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

import amqp
import attrs

from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress
from tests import servers


@attrs.frozen
class Found:
    """A message in a queue."""

    body: bytes
    headers: Mapping[str, Any]
    properties: Mapping[str, Any]
    routing_key: str


@attrs.define(eq=False)
class AnyClient:
    """Makes and reads queues; a context manager for its connection."""

    url: str = attrs.field(factory=servers.rabbitmq_url)
    _connection: Any = attrs.field(default=None, init=False)

    def __enter__(self) -> Self:
        self.reconnect()
        return self

    def reconnect(self) -> None:
        """Connect, again if the broker has been away."""
        if self._connection is not None:
            self._connection.collect()
        address = BrokerAddress.parse(self.url)
        self._connection = amqp.Connection(
            host=f"{address.host}:{address.port}",
            userid=address.user,
            password=address.password,
            virtual_host=address.virtual_host,
            connect_timeout=5,
        )
        self._connection.connect()

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, amqp.AMQPError):
            self._connection.close()

    def exchange(self, name: str, kind: str = "topic") -> None:
        with self._channel() as channel:
            channel.exchange_declare(name, kind, durable=True, auto_delete=False)

    def queue(self, name: str, *bindings: tuple[str, str], **arguments: Any) -> str:  # noqa: ANN401
        """Make a queue and bind it; each binding is an exchange and a routing key."""
        named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        with self._channel() as channel:
            channel.queue_declare(name, durable=True, auto_delete=False, arguments=named)
            for exchange, routing_key in bindings:
                channel.queue_bind(name, exchange, routing_key)
        return name

    def publish(
        self, exchange: str, routing_key: str, body: bytes, headers: Mapping[str, object]
    ) -> None:
        message = amqp.Message(body, application_headers=dict(headers), delivery_mode=2)
        with self._channel() as channel:
            channel.confirm_select()
            channel.basic_publish_confirm(message, exchange, routing_key)

    def publish_raw(self, exchange: str, routing_key: str, body: bytes, properties: bytes) -> None:
        """Publish a message with properties as they are on the wire, whatever they say."""
        message = amqp.Message(body)
        message._serialize_properties = lambda: properties
        with self._channel() as channel:
            channel.confirm_select()
            channel.basic_publish_confirm(message, exchange, routing_key)

    def messages(self, queue: str) -> Sequence[Found]:
        """Return what lies in a queue; it stays there, and what consumers hold is not seen."""
        found: list[Found] = []
        with self._channel() as channel:
            channel.auto_decode = False
            while (message := channel.basic_get(queue)) is not None:
                properties = dict(message.properties)
                headers = properties.pop("application_headers", {})
                key = message.delivery_info["routing_key"]
                found.append(Found(bytes(message.body or b""), headers, properties, key))
        return found  # closing the channel has given them back

    def take_and_give_back(self, queue: str) -> None:
        """Take everything from a queue and go away with it, as a process does that dies."""
        with self._channel() as channel:
            taken: list[object] = []
            channel.basic_qos(0, 100, a_global=False)
            channel.basic_consume(queue, callback=taken.append)
            count = self.ready(queue)
            while len(taken) < count:
                self._connection.drain_events(timeout=5)

    def bind(self, queue: str, exchange: str, routing_key: str = "") -> None:
        with self._channel() as channel:
            channel.queue_bind(queue, exchange, routing_key)

    def has_queue(self, name: str) -> bool:
        try:
            with self._channel() as channel:
                channel.queue_declare(name, passive=True)
        except amqp.NotFound:
            return False
        return True

    def ready(self, queue: str) -> int:
        """Return how many messages a queue could deliver now."""
        with self._channel() as channel:
            return int(channel.queue_declare(queue, passive=True).message_count)

    def delete(self, queues: Sequence[str], exchanges: Sequence[str]) -> None:
        with self._channel() as channel:
            for queue in queues:
                channel.queue_delete(queue)
            for exchange in exchanges:
                channel.exchange_delete(exchange)

    @contextlib.contextmanager
    def _channel(self) -> Any:  # noqa: ANN401
        channel = self._connection.channel()
        try:
            yield channel
        finally:
            channel.close()
