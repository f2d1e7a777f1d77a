"""Servers that behave as no real one can be made to: a broker that takes everything in silence."""

import contextlib
import json
import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OPAQUE = re.compile(rb'"opaque"\s*:\s*(\d+)')
_ANSWER_FLAG = 1


@contextmanager
def silent_broker() -> Iterator[str]:
    """Run a broker that accepts connections and never answers; return its name server's address."""
    with socket.create_server(("127.0.0.1", 0)) as broker:
        route = json.dumps(_route(broker.getsockname()[1])).encode()
        with socket.create_server(("127.0.0.1", 0)) as name_server:
            threading.Thread(target=_serve, args=(name_server, route), daemon=True).start()
            threading.Thread(target=_serve, args=(broker, None), daemon=True).start()
            yield f"127.0.0.1:{name_server.getsockname()[1]}"


def _route(port: int) -> dict[str, object]:
    queues = {"brokerName": "silent", "perm": 6, "readQueueNums": 4, "writeQueueNums": 4}
    broker = {"brokerName": "silent", "cluster": "c", "brokerAddrs": {"0": f"127.0.0.1:{port}"}}
    return {"brokerDatas": [broker], "queueDatas": [queues | {"topicSynFlag": 0}]}


def _serve(server: socket.socket, answer: bytes | None) -> None:
    with contextlib.suppress(OSError):  # closed at the end of the test
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_talk, args=(connection, answer), daemon=True).start()


def _talk(connection: socket.socket, answer: bytes | None) -> None:
    with (
        contextlib.suppress(OSError, struct.error),
        connection,
        connection.makefile("rb") as frames,
    ):
        while head := frames.read(4):
            request = frames.read(struct.unpack(">I", head)[0])
            if answer is not None:
                connection.sendall(_answer_to(request, answer))


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
