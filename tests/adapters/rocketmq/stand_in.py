"""Servers that behave as no real one can be made to.

One is a broker that takes everything in silence; another one a name server that sends clients to
another address than the broker's, where a gate stands.
"""

import contextlib
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

_OPAQUE = re.compile(rb'"opaque"\s*:\s*(\d+)')
_ANSWER_FLAG = 1


@contextmanager
def silent_broker() -> Iterator[str]:
    """Run a broker that accepts connections and never answers; return its name server's address."""
    with socket.create_server(("127.0.0.1", 0)) as broker:
        route = json.dumps(_route(broker.getsockname()[1])).encode()
        with socket.create_server(("127.0.0.1", 0)) as name_server:
            _serve(name_server, lambda connection: _talk(connection, route))
            _serve(broker, lambda connection: _talk(connection, None))
            yield f"127.0.0.1:{name_server.getsockname()[1]}"


@contextmanager
def renaming_name_server(
    name_server: tuple[str, int], broker: str, gate: str
) -> Iterator[tuple[str, int]]:
    """Run a name server that answers as another one does, but for the address of a broker.

    Args:
        name_server: The other one.
        broker: Host and port of the broker, as the other one says it.
        gate: What is said in its place.
    """

    def translate(connection: socket.socket) -> None:
        with socket.create_connection(name_server) as onward, onward.makefile("rb") as answers:
            for request in _frames(connection):
                onward.sendall(_framed(request))
                answer = _next_frame(answers)
                connection.sendall(_framed(answer.replace(broker.encode(), gate.encode())))

    with socket.create_server(("127.0.0.1", 0)) as server:
        _serve(server, translate)
        yield server.getsockname()


def _route(port: int) -> dict[str, object]:
    queues = {"brokerName": "silent", "perm": 6, "readQueueNums": 4, "writeQueueNums": 4}
    broker = {"brokerName": "silent", "cluster": "c", "brokerAddrs": {"0": f"127.0.0.1:{port}"}}
    return {"brokerDatas": [broker], "queueDatas": [queues | {"topicSynFlag": 0}]}


def _serve(server: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    """Talk with whoever connects, each in a thread, until the server is closed."""

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed at the end of the test
            while True:
                connection, _ = server.accept()
                threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), connection:
            talk(connection)

    threading.Thread(target=accept, daemon=True).start()


def _talk(connection: socket.socket, answer: bytes | None) -> None:
    for request in _frames(connection):
        if answer is not None:
            connection.sendall(_answer_to(request, answer))


def _frames(connection: socket.socket) -> Iterator[bytes]:
    with connection.makefile("rb") as stream:
        while True:
            yield _next_frame(stream)


def _next_frame(stream: BinaryIO) -> bytes:
    head = stream.read(4)
    if len(head) < 4:
        raise EOFError
    return stream.read(struct.unpack(">I", head)[0])


def _framed(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _answer_to(request: bytes, body: bytes) -> bytes:
    opaque = _OPAQUE.search(request)
    header = json.dumps(
        {
            "code": 0,
            "flag": _ANSWER_FLAG,
            "language": "JAVA",
            "opaque": int(opaque[1]) if opaque else 0,
            "version": 0,
        }
    ).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body
