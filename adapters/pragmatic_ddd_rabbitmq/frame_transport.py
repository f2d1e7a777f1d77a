"""The connection below py-amqp: frames out of and into a socket, without blocking unless asked to.

    py-amqp ──write──▶ outgoing bytes ──flush──▶ socket ──receive──▶ incoming bytes ──read_frame──▶

py-amqp's own transport asks the system three times for each frame that it reads, once for each
that it writes, and cannot wait for a socket and for something else. With this one hundreds of
messages leave in one call; what cannot leave yet stays here, whole, so that a broker that stops
reading costs no connection; and a wait ends at a deadline, or when another thread wakes it.
"""

import contextlib
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.broker_socket import connected_socket, seconds_left

_PROTOCOL_HEADER: Final = b"AMQP\x00\x00\x09\x01"
_FRAME_HEAD: Final = struct.Struct(">BHI")  # type, channel, size
_FRAME_END: Final = 0xCE
_PIECE_BYTES: Final = 256 * 1024
_DISCARD: Final = struct.pack("ii", 1, 0)  # SO_LINGER: what has not left is not to leave
_NOTHING_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Frame = tuple[int, int, bytes]


@attrs.define(eq=False, kw_only=True)
class FrameTransport:
    """What py-amqp's ``Connection`` reads from and writes to.

    One thread at a time may use it; beside it, others may ``wait`` and ``wake``.

    Attributes:
        host: Where the broker is.
        port: Its port.
        encryption: For TLS; ``None`` for none.
        deadline: Reading of the monotonic clock until which ``connect`` and ``read_frame`` wait.
        connected: Whether it can be used; py-amqp asks.
        last_received: Reading of the monotonic clock when something came.
        last_sent: The same, when something left.
    """

    host: str
    port: int
    encryption: ssl.SSLContext | None = None
    deadline: float
    connected: bool = attrs.field(default=False, init=False)
    last_received: float = attrs.field(default=0.0, init=False)
    last_sent: float = attrs.field(default=0.0, init=False)
    _socket: socket.socket | None = attrs.field(default=None, init=False, repr=False)
    _incoming: bytearray = attrs.field(factory=bytearray, init=False, repr=False)
    _start: int = attrs.field(default=0, init=False)
    _outgoing: bytearray = attrs.field(factory=bytearray, init=False, repr=False)
    _wake_up: tuple[socket.socket, socket.socket] | None = attrs.field(
        default=None, init=False, repr=False
    )

    @property
    def unsent_bytes(self) -> int:
        """How much has not left yet."""
        return len(self._outgoing)

    def connect(self) -> None:
        """Connect, once, and begin the protocol.

        Raises:
            OSError: It cannot, not until the deadline, or not again: py-amqp would reconnect by
                itself, to a channel that confirms nothing.
        """
        if self.last_received:
            raise OSError("the connection is closed")
        self._socket = connected_socket(
            self.host, self.port, encryption=self.encryption, deadline=self.deadline
        )
        reader, writer = socket.socketpair()
        reader.settimeout(0)
        writer.settimeout(0)
        self._wake_up = reader, writer
        self.connected = True
        self.last_received = self.last_sent = time.monotonic()
        self._outgoing += _PROTOCOL_HEADER

    def write(self, data: bytes | memoryview) -> None:
        """Take bytes of whole frames; ``flush`` sends them.

        Raises:
            OSError: It is closed.
        """
        if not self.connected:
            raise OSError("the connection is closed")
        self._outgoing += data

    def flush(self) -> None:
        """Send what can leave now.

        Raises:
            OSError: The connection is lost.
        """
        while self._outgoing:
            with memoryview(self._outgoing) as whole, whole[:_PIECE_BYTES] as piece:
                try:
                    count = self._open_socket().send(piece)
                except _NOTHING_NOW:
                    return
            del self._outgoing[:count]
            self.last_sent = time.monotonic()

    def receive(self) -> bool:
        """Take what has come, and say whether something has.

        Raises:
            OSError: The connection is lost, or the broker has closed it.
        """
        try:
            piece = self._open_socket().recv(_PIECE_BYTES)
        except _NOTHING_NOW:
            return False
        if not piece:
            raise OSError("RabbitMQ has closed the connection")
        del self._incoming[: self._start]
        self._start = 0
        self._incoming += piece
        self.last_received = time.monotonic()
        return True

    def has_frame(self) -> bool:
        """Say whether ``read_frame`` would return at once."""
        return self._frame_size() is not None

    def read_frame(self) -> Frame:
        """Return the next frame: its type, its channel, its payload. Sends and waits for it.

        Raises:
            TimeoutError: None has come until the deadline.
            OSError: The connection is lost.
        """
        while (size := self._frame_size()) is None:
            self.flush()
            if not self.receive():
                self.wait(seconds_left(self.deadline))
        kind, channel, _ = _FRAME_HEAD.unpack_from(self._incoming, self._start)
        begin = self._start + _FRAME_HEAD.size
        end = begin + size
        payload = bytes(self._incoming[begin:end])
        if self._incoming[end] != _FRAME_END:
            raise OSError("what has come is no AMQP")
        self._start = end + 1
        return kind, channel, payload

    def wait(self, timeout: float) -> None:
        """Wait until something can be received or sent, or somebody calls ``wake``.

        Args:
            timeout: How long, in seconds.
        """
        opened, wake_up = self._socket, self._wake_up
        if opened is None or wake_up is None or timeout <= 0:
            return
        reader = wake_up[0]
        poll = select.poll()
        events = select.POLLIN | (select.POLLOUT if self._outgoing else 0)
        with contextlib.suppress(OSError, ValueError):  # closed meanwhile
            poll.register(opened, events)
            poll.register(reader, select.POLLIN)
            poll.poll(timeout * 1000)
            while reader.recv(4096):
                pass

    def wake(self) -> None:
        """Have a ``wait`` in another thread end."""
        if self._wake_up is not None:
            with contextlib.suppress(OSError):  # full, so that it will wake, or closed
                self._wake_up[1].send(b"\0")

    @contextlib.contextmanager
    def having_timeout(self, _: float | None) -> Iterator[None]:
        """Do nothing: py-amqp asks for it before each read, and here a deadline is set."""
        yield

    def close(self) -> None:
        """Close it; py-amqp calls this once both sides have said goodbye."""
        with contextlib.suppress(OSError):
            self.flush()
        self._let_go()

    def abort(self) -> None:
        """Close it so that nothing more leaves: not even what the system has taken already."""
        self._outgoing = bytearray()  # not cleared: a signal handler may be in the midst of a send
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD)
        self._let_go()

    def _frame_size(self) -> int | None:
        """Return the size of the next frame's payload, if the frame is there as a whole."""
        available = len(self._incoming) - self._start - _FRAME_HEAD.size - 1
        if available < 0:
            return None
        size: int = _FRAME_HEAD.unpack_from(self._incoming, self._start)[2]
        return size if size <= available else None

    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            raise OSError("the connection is closed")
        return self._socket

    def _let_go(self) -> None:
        self.connected = False
        self.wake()
        closed, self._socket = self._socket, None
        wake_up, self._wake_up = self._wake_up, None
        for each in (closed, *(wake_up or ())):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.close()
