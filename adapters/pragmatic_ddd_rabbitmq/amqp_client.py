"""py-amqp, with a transport of ours, channels that stay closed, and messages that can be read."""

import math
import time
from typing import Final

import amqp

from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress
from pragmatic_ddd_rabbitmq.frame_transport import FrameTransport
from pragmatic_ddd_rabbitmq.unreadable_properties import DECODING_ERRORS, HEADER_FRAME, readable

_NEGOTIATED: Final = {
    "connection.blocked": True,
    "consumer_cancel_notify": True,
    "authentication_failure_close": True,
}


class AmqpChannel(amqp.Channel):  # type: ignore[misc]  # the library has no types
    """A channel. Its messages keep their bytes, whatever encoding they claim."""

    def __init__(
        self, connection: "AmqpConnection", channel_id: int | None = None, **_: object
    ) -> None:
        super().__init__(connection, channel_id, auto_decode=False)

    def publish(self, exchange: str, routing_key: str, content: amqp.Message) -> None:
        """Write a message that comes back where no queue is bound for it; ``flush`` sends it.

        The library's own method would look for what has come, before each.

        Raises:
            OSError: The channel is closed.
        """
        try:
            self.send_method(
                amqp.spec.Basic.Publish, "Bssbb", (0, exchange, routing_key, True, False), content
            )
        except amqp.AMQPError as error:
            raise OSError(str(error)) from error

    def _do_revive(self) -> None:
        """Stay closed. A revived one confirms nothing, and nobody would know what was lost."""


class AmqpConnection(amqp.Connection):  # type: ignore[misc]  # the library has no types
    """A connection over a ``FrameTransport``.

    Attributes:
        reason_of_block: Why the broker takes no more messages; ``None`` while it takes them.
        takes_since: Reading of the monotonic clock when it began to take them; infinity while
            it does not.
    """

    Channel = AmqpChannel
    negotiate_capabilities = _NEGOTIATED

    def __init__(
        self, transport: FrameTransport, address: BrokerAddress, *, name: str, heartbeat: int
    ) -> None:
        super().__init__(
            host=f"{address.host}:{address.port}",
            userid=address.user,
            password=address.password,
            login_method="PLAIN",
            virtual_host=address.virtual_host,
            client_properties={"connection_name": name},
            heartbeat=heartbeat,
            on_blocked=self._block,
            on_unblocked=self._unblock,
        )
        self.frame_transport = transport
        self.reason_of_block: str | None = None
        self.takes_since = 0.0

    def Transport(self, *_: object, **__: object) -> FrameTransport:  # noqa: N802  # the library's
        """Return what it reads from and writes to; the library asks for it once."""
        return self.frame_transport

    def blocking_read(self, timeout: float | None = None) -> object:
        """Take the next frame; return something true at the end of a method.

        The transport's deadline ends it, whatever ``timeout`` says.
        """
        kind, channel, payload = self.frame_transport.read_frame()
        try:
            return self.on_inbound_frame((kind, channel, payload))
        except DECODING_ERRORS:
            replacement = readable(payload) if kind == HEADER_FRAME else None
            if replacement is None:
                raise
            return self.on_inbound_frame((kind, channel, replacement))

    def _block(self, reason: str) -> None:
        self.reason_of_block = reason
        self.takes_since = math.inf

    def _unblock(self) -> None:
        self.reason_of_block = None
        self.takes_since = time.monotonic()
