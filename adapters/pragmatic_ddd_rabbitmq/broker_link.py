"""One connection to RabbitMQ with one channel, that knows when it is of no use any more.

    opened ──▶ usable ──turn, turn, turn──▶ lost: closed by the broker, cut, silent
                  └──────close, abort─────▶ lost: by us

``turn`` does whatever can be done without waiting: take what has come, act on it, send what
waits, and a heartbeat when one is due. Once it is lost, ``failure`` says why, and a new one is
made.
"""

import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

import attrs
from amqp.exceptions import AMQPError

from pragmatic_ddd_rabbitmq.amqp_client import AmqpChannel, AmqpConnection
from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress
from pragmatic_ddd_rabbitmq.errors import LinkLostError, link_lost
from pragmatic_ddd_rabbitmq.frame_transport import FrameTransport

# What py-amqp raises, also for what it cannot read.
_CLIENT_ERRORS: Final = (
    AMQPError,
    ArithmeticError,
    LinkLostError,
    LookupError,
    OSError,
    ValueError,
    struct.error,
)


@attrs.define(eq=False, kw_only=True)
class BrokerLink:
    """A connection and its channel. One thread at a time may use it, but for ``wait`` and ``wake``.

    Attributes:
        name: Its name, as the broker's own tools show it.
        transport: Its bytes.
        connection: The client's connection.
        channel: The client's channel.
        failure: Why it is of no use any more; ``None`` while it is.
    """

    name: str
    transport: FrameTransport
    connection: AmqpConnection
    channel: AmqpChannel
    failure: LinkLostError | None = attrs.field(default=None, init=False)

    @classmethod
    def opened(
        cls,
        address: BrokerAddress,
        *,
        name: str,
        encryption: ssl.SSLContext | None,
        heartbeat_seconds: int,
        deadline: float,
    ) -> Self:
        """Connect, log in and open a channel.

        Args:
            address: Where the broker is.
            name: The connection's name.
            encryption: For TLS.
            heartbeat_seconds: Longest silence that either side is to keep.
            deadline: Reading of the monotonic clock until which all of it has to be done.

        Raises:
            LinkLostError: It cannot; says where and why.
        """
        transport = FrameTransport(
            host=address.host, port=address.port, encryption=encryption, deadline=deadline
        )
        connection = AmqpConnection(transport, address, name=name, heartbeat=heartbeat_seconds)
        try:
            connection.connect()
            channel = connection.channel()
        except _CLIENT_ERRORS as error:
            transport.abort()
            raise LinkLostError(f"{address}: {link_lost(error)}") from error
        except BaseException:
            transport.abort()
            raise
        return cls(name=name, transport=transport, connection=connection, channel=channel)

    @property
    def frame_max_bytes(self) -> int:
        """Largest frame, as it was negotiated."""
        return int(self.connection.frame_max)

    @property
    def server_version(self) -> tuple[int, ...]:
        """Version of the broker, such as ``(3, 10, 8)``."""
        text = str(self.connection.server_properties.get("version", ""))
        numbers = text.replace("-", ".").split(".")[:3]
        return tuple(int(number) for number in numbers if number.isdigit())

    @property
    def reason_of_block(self) -> str | None:
        """Why the broker takes no messages now; ``None`` while it takes them."""
        return self.connection.reason_of_block

    @property
    def takes_since(self) -> float:
        """Since when the broker takes messages, by the monotonic clock; infinity: it does not."""
        return self.connection.takes_since

    @contextmanager
    def asking(self, deadline: float) -> Iterator[AmqpChannel]:
        """Lend the channel for calls that wait for an answer; a failure loses the link.

        Args:
            deadline: Reading of the monotonic clock until which the answers have to be there.

        Raises:
            LinkLostError: The broker refuses, is away, or does not answer in time.
        """
        self.check()
        self.transport.deadline = deadline
        try:
            yield self.channel
        except _CLIENT_ERRORS as error:
            self.fail(link_lost(error))
            raise self.failure or link_lost(error) from error
        except BaseException as error:
            self.fail(LinkLostError(f"interrupted by {type(error).__name__}"))
            raise

    def check(self) -> None:
        """Return while it is usable.

        Raises:
            LinkLostError: It is not.
        """
        if self.failure is not None:
            raise self.failure

    def turn(self) -> None:
        """Do what can be done without waiting. What the broker says or does sets ``failure``."""
        if self.failure is not None:
            return
        self.transport.deadline = 0.0  # nothing that is called from here may wait
        try:
            self.transport.flush()
            self._read_frames()  # what came together with an answer that was waited for
            while self.transport.receive():
                self._read_frames()
            self._beat()
            self.transport.flush()
        except _CLIENT_ERRORS as error:
            self.fail(link_lost(error))
        except BaseException as error:
            self.fail(LinkLostError(f"interrupted by {type(error).__name__}"))
            raise

    def push(self) -> None:
        """Send what can leave now. What goes wrong sets ``failure``."""
        try:
            self.transport.flush()
        except OSError as error:
            self.fail(link_lost(error))
        except BaseException as error:  # what has left may still stand among what has not
            self.fail(LinkLostError(f"interrupted by {type(error).__name__}"))
            raise

    @property
    def beat_seconds(self) -> float:
        """How often ``turn`` has to be called at the least, in seconds."""
        return float(self.connection.heartbeat or 60) / 4

    def fail(self, failure: LinkLostError) -> None:
        """Give it up; nothing more leaves."""
        if self.failure is None:
            self.failure = failure
        self.transport.abort()

    def close(self, deadline: float) -> None:
        """Say goodbye and wait for the answer: by then the broker has given back what was unacked.

        Args:
            deadline: Reading of the monotonic clock until which it has to be done; then it is
                given up.
        """
        if self.failure is not None:
            return
        self.transport.deadline = deadline
        try:
            self.connection.close()
        except _CLIENT_ERRORS as error:
            self.fail(link_lost(error))
        else:
            self.fail(LinkLostError("it has been shut down"))

    def _read_frames(self) -> None:
        while self.transport.has_frame():
            self.connection.blocking_read()

    def _beat(self) -> None:
        """Send a heartbeat when one is due.

        Raises:
            LinkLostError: The broker has been silent for too long.
        """
        interval = self.connection.heartbeat
        if not interval:
            return
        now = time.monotonic()
        silence = now - self.transport.last_received
        if silence > 2 * interval:
            raise LinkLostError(f"RabbitMQ has been silent for {silence:.0f} s")
        if now - self.transport.last_sent > interval / 2:
            self.connection.send_heartbeat()
