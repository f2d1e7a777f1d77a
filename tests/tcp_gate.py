"""A gate on the way to a server: open, shut, or open with nothing passing through.

client ──▶ TcpGate ──▶ server

What a test does to the gate it does to the connections through it, and to nobody else's: the
server itself may be shared by many tests.
"""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import attrs

_GLANCE_SECONDS = 0.05
_PIECE_BYTES = 65_536
_TIMEOUT_SECONDS = 5.0


@attrs.define(eq=False)
class TcpGate:
    """Passes bytes on between its clients and one server; a context manager for its life.

    Attributes:
        server: Host and port of the server.
    """

    server: tuple[str, int]
    _listener: socket.socket = attrs.field(init=False)
    _address: tuple[str, int] = attrs.field(init=False)
    _passing: threading.Event = attrs.field(factory=threading.Event, init=False)
    _answer_bytes: int | None = attrs.field(default=None, init=False)
    _pairs: set[tuple[socket.socket, socket.socket]] = attrs.field(factory=set, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._passing.set()
        self._listen(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        """Where clients of 127.0.0.1 connect; it stays the same."""
        return self._address[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._passing.set()
        self._shut()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Cut every connection, and refuse new ones, as long as the block runs."""
        self._shut()
        try:
            yield
        finally:
            self._listen(self._address)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let nothing pass, in either direction, as long as the block runs."""
        self._passing.clear()
        try:
            yield
        finally:
            self._passing.set()

    @contextmanager
    def answering(self, *, at_most_bytes: int) -> Iterator[None]:
        """Let so many bytes of answers pass, and cut the connection that would get the next one.

        What clients send passes on: the server does what it is asked, and nobody hears of it.
        """
        self._answer_bytes = at_most_bytes
        try:
            yield
        finally:
            self._answer_bytes = None

    def cut(self) -> None:
        """Cut every connection; new ones are welcome."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _listen(self, address: tuple[str, int]) -> None:
        self._listener = socket.create_server(address)
        self._address = self._listener.getsockname()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _shut(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # shut
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client, listener), daemon=True).start()

    def _serve(self, client: socket.socket, listener: socket.socket) -> None:
        try:
            server = socket.create_connection(self.server, timeout=_TIMEOUT_SECONDS)
        except OSError:
            client.close()
            return
        pair = (client, server)
        with self._lock:
            is_shut = listener.fileno() < 0
            if not is_shut:
                self._pairs.add(pair)
        try:
            if not is_shut:
                self._pass_on(client, server)
        finally:
            with self._lock:
                self._pairs.discard(pair)
            client.close()
            server.close()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select(_GLANCE_SECONDS):
                    self._passing.wait()
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    piece = source.recv(_PIECE_BYTES)
                    if not piece:
                        return
                    allowed = self._allowed(piece) if source is server else piece
                    key.data.sendall(allowed)
                    if len(allowed) < len(piece):
                        return

    def _allowed(self, answer: bytes) -> bytes:
        with self._lock:
            if self._answer_bytes is None:
                return answer
            allowed = answer[: self._answer_bytes]
            self._answer_bytes -= len(allowed)
            return allowed
