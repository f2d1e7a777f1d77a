"""RocketMQ's remoting protocol, as far as one request and its answer.

    4 bytes  length of all that follows
    4 bytes  length of the header, in the lower three; the first names its format, 0 for JSON
    header   code, fields
    body

Each request has a connection of its own.
"""

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from tests.services.port import HOST, Port

_TIMEOUT_SECONDS = 5
_SUCCESS = 0


class RequestCode(IntEnum):
    """The requests that are used here, under RocketMQ's own names."""

    PULL_MESSAGE = 11
    UPDATE_AND_CREATE_TOPIC = 17
    UPDATE_BROKER_CONFIG = 25
    GET_BROKER_RUNTIME_INFO = 28
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200


class ResponseCode(IntEnum):
    """The refusals that callers tell apart."""

    TOPIC_NOT_EXIST = 17
    PULL_NOT_FOUND = 19
    PULL_RETRY_IMMEDIATELY = 20
    PULL_OFFSET_MOVED = 21


class RemotingError(Exception):
    """The server understood the request and refused it.

    Attributes:
        code: Its reason, a ``ResponseCode`` where that is known.
    """

    def __init__(self, request: RequestCode, code: int, remark: str) -> None:
        super().__init__(request, code, remark)
        self.request = request
        self.code = code
        self.remark = remark

    def __str__(self) -> str:
        return f"RocketMQ refused {self.request.name}: {self.code} {self.remark}"


@dataclass(frozen=True)
class Response:
    """What a server answered.

    Attributes:
        fields: Those of its header that belong to this kind of answer.
        body: The rest, as it came.
    """

    fields: Mapping[str, str]
    body: bytes


def request(
    port: Port,
    code: RequestCode,
    fields: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Response:
    """Ask a name server or a broker something.

    Raises:
        RemotingError: It refused.
        OSError: It is not there, or did not answer in time.
    """
    header = json.dumps(
        {
            "code": code,
            "language": "JAVA",
            "version": 493,  # 5.3.3, in RocketMQ's own count
            "opaque": 1,
            "flag": 0,
            "extFields": dict(fields or {}),
            "serializeTypeCurrentRPC": "JSON",
        }
    ).encode()
    size = 4 + len(header) + len(body)
    with socket.create_connection((HOST, port.number), _TIMEOUT_SECONDS) as connection:
        connection.sendall(struct.pack(">II", size, len(header)) + header + body)
        (size,) = struct.unpack(">I", _receive(connection, 4))
        frame = _receive(connection, size)
    return _response(code, frame)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError("the connection was closed within an answer")
        received += chunk
    return bytes(received)


def _response(request_code: RequestCode, frame: bytes) -> Response:
    (mark,) = struct.unpack(">I", frame[:4])
    end = 4 + (mark & 0xFFFFFF)
    header = json.loads(frame[4:end])
    if header["code"] != _SUCCESS:
        raise RemotingError(request_code, header["code"], header.get("remark") or "")
    return Response(fields=header.get("extFields") or {}, body=frame[end:])
