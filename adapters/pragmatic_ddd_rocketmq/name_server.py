"""The name servers: their addresses, and a first look at whether they know a broker.

The native client starts without any name server, and says nothing. Worse, a host name that does
not resolve ends the whole process (an exception that nobody catches, on a thread of its own,
within 30 s). So names are resolved here, and the client is given numbers.
"""

import contextlib
import json
import re
import socket
import struct
import time
from collections.abc import Iterator

import attrs

from pragmatic_ddd.application.arguments import shown_address
from pragmatic_ddd_rocketmq.errors import RocketMqStartError

_GET_BROKER_CLUSTER_INFO = 106
_ADDRESS = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):(\d{1,5})")
_BROKER_ADDRESS = re.compile(rb'"?\d+"?\s*:\s*"([^"]+:\d+)"')
_HIGHEST_PORT = 65535
_LARGEST_ANSWER_BYTES = 16 * 1024 * 1024


@attrs.frozen
class NameServers:
    """The name servers of a cluster.

    Attributes:
        addresses: Host and port of each.
    """

    addresses: tuple[tuple[str, int], ...]

    @classmethod
    def parse(cls, text: str) -> "NameServers":
        """Read ``host:port``, or several, separated by semicolons.

        Raises:
            ValueError: One of them is something else.
        """
        if "@" in text:  # what stands before it may be a password, with semicolons
            raise ValueError(f"{shown_address(text)} is not host:port")
        addresses = []
        for part in filter(None, (part.strip() for part in text.split(";"))):
            found = _ADDRESS.fullmatch(part)
            if found is None or not 0 < int(found[2]) <= _HIGHEST_PORT:
                raise ValueError(f"{part!r} is not host:port")
            addresses.append((found[1], int(found[2])))
        if not addresses:
            raise ValueError("host:port, or several, separated by semicolons")
        return cls(tuple(addresses))

    def __str__(self) -> str:
        return ";".join(f"{host}:{port}" for host, port in self.addresses)

    def resolved(self) -> "NameServers":
        """Return the same with numbers instead of names, as far as the names resolve.

        A name that does not resolve is left out while another one does.

        Raises:
            RocketMqStartError: None resolves.
        """
        numbers: dict[tuple[str, int], None] = {}
        problems = []
        for host, port in self.addresses:
            try:
                found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
            except OSError as error:
                problems.append(f"{host}: {error}")
            else:
                numbers.update({(str(entry[4][0]), port): None for entry in found})
        if not numbers:
            raise RocketMqStartError(
                f"no name server of {self} has an address ({'; '.join(problems)})"
            )
        return NameServers(tuple(numbers))

    def brokers(self, *, timeout_seconds: float) -> list[str]:
        """Ask one after the other for the brokers that it knows; the first answer counts.

        Args:
            timeout_seconds: Upper bound for each name server.

        Returns:
            Addresses, at least one.

        Raises:
            RocketMqStartError: No name server answered with a broker.
        """
        problems = []
        for host, port in self.addresses:
            try:
                if brokers := _ask_for_brokers(host, port, timeout_seconds):
                    return brokers
                problems.append(f"{host}:{port} knows no broker")
            except (OSError, ValueError, struct.error) as error:
                problems.append(f"{host}:{port}: {str(error) or type(error).__name__}")
        raise RocketMqStartError(f"no name server has a broker ({'; '.join(problems)})")


def _ask_for_brokers(host: str, port: int, timeout_seconds: float) -> list[str]:
    header = json.dumps(
        {
            "code": _GET_BROKER_CLUSTER_INFO,
            "language": "PYTHON",
            "version": 0,
            "opaque": 1,
            "flag": 0,
        }
    ).encode()
    with _connection(host, port, timeout_seconds) as (connection, deadline):
        connection.sendall(struct.pack(">II", 4 + len(header), len(header)) + header)
        (size,) = struct.unpack(">I", _receive(connection, 4, deadline))
        if size > _LARGEST_ANSWER_BYTES:
            raise ValueError("this is not a name server")
        answer = _receive(connection, size, deadline)
    (header_size,) = struct.unpack(">I", answer[:4])
    body = answer[4 + (header_size & 0xFFFFFF) :]
    table = body[body.find(b'"brokerAddrTable"') :]
    return sorted({address.decode(errors="replace") for address in _BROKER_ADDRESS.findall(table)})


@contextlib.contextmanager
def _connection(
    host: str, port: int, timeout_seconds: float
) -> Iterator[tuple[socket.socket, float]]:
    deadline = time.monotonic() + timeout_seconds
    with socket.create_connection((host, port), timeout_seconds) as connection:
        yield connection, deadline


def _receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    received = bytearray()
    while len(received) < size:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("no answer in time")
        connection.settimeout(remaining)
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError("closed within an answer")
        received += chunk
    return bytes(received)
