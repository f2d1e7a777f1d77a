"""Where the servers are that some tests need, and whether each of them answers.

`make services` starts them at the default addresses; an environment variable names another one.
The two clients of RocketMQ share a package name, so each has an environment of its own, which
`make setup` makes; a test that needs the other one's interpreter asks for it as for a service.
"""

import contextlib
import ctypes.util
import functools
import json
import os
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

_ROOT = Path(__file__).parent.parent
_TIMEOUT_SECONDS = 3.0
_BROKER_ADDRESS = re.compile(rb'"brokerAddrs":\{"?\d+"?:"([^":]+):(\d+)"')


def postgresql_url() -> str:
    return os.environ.get(
        "PRAGMATIC_DDD_POSTGRESQL_URL", "postgresql+psycopg://postgres@127.0.0.1:54329/postgres"
    )


def mariadb_url() -> str:
    return os.environ.get(
        "PRAGMATIC_DDD_MARIADB_URL",
        "mysql+pymysql://test:test@127.0.0.1:33069/test?charset=utf8mb4",
    )


def rocketmq_name_server() -> str:
    return os.environ.get("PRAGMATIC_DDD_ROCKETMQ_NAME_SERVER", "127.0.0.1:9876")


def rocketmq_grpc_endpoint() -> str:
    return os.environ.get("PRAGMATIC_DDD_ROCKETMQ_GRPC", "127.0.0.1:8081")


def kafka_bootstrap() -> str:
    return os.environ.get("PRAGMATIC_DDD_KAFKA", "127.0.0.1:29092")


def kafka_sasl_bootstrap() -> str:
    """Return where Kafka asks who one is: SASL PLAIN, users ``test`` and ``restricted``."""
    return os.environ.get("PRAGMATIC_DDD_KAFKA_SASL", "127.0.0.1:29094")


def rabbitmq_url() -> str:
    return os.environ.get("PRAGMATIC_DDD_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:25679/")


def redis_url() -> str:
    return os.environ.get("PRAGMATIC_DDD_REDIS_URL", "redis://127.0.0.1:63799/0")


def rocketmq_library() -> Path | None:
    """Return the native client library, or None to leave the search to the system's loader."""
    named = os.environ.get("PRAGMATIC_DDD_ROCKETMQ_LIBRARY")
    if named:
        return Path(named)
    built = _ROOT / "build" / "services" / "rocketmq" / "librocketmq.so"
    return built if built.exists() else None


def remoting_python() -> Path:
    """Return the interpreter of the environment that has RocketMQ's remoting client."""
    return Path(os.environ.get("PRAGMATIC_DDD_REMOTING_PYTHON", _ROOT / ".venv/bin/python"))


def grpc_python() -> Path:
    """Return the interpreter of the environment that has RocketMQ's gRPC client."""
    return Path(os.environ.get("PRAGMATIC_DDD_GRPC_PYTHON", _ROOT / ".venv-grpc/bin/python"))


def is_required(service: str) -> bool:
    """Say whether a test without that service fails instead of being skipped.

    `PRAGMATIC_DDD_SERVICES` is `required` for every service, or names some, with commas.
    """
    required = os.environ.get("PRAGMATIC_DDD_SERVICES", "")
    return required == "required" or service in required.split(",")


@functools.cache
def answers(service: str) -> bool:
    """Say whether the service speaks its protocol at its address; asked once per run.

    Raises:
        KeyError: No service has that name.
    """
    probe = _PROBES[service]
    with contextlib.suppress(OSError):
        return probe()
    return False


def _postgresql_answers() -> bool:
    ssl_request = struct.pack("!ii", 8, 80877103)
    with _connect(_address(postgresql_url(), default_port=5432)) as server:
        server.sendall(ssl_request)
        return server.recv(1) in {b"S", b"N"}


def _mariadb_answers() -> bool:
    protocol_version = b"\x0a"
    with _connect(_address(mariadb_url(), default_port=3306)) as server:
        greeting = _receive(server, 5)
        return greeting[4:] == protocol_version


def _rocketmq_answers() -> bool:
    """Ask the name server for its brokers, and connect to the first one.

    Without the native client library, which `make services` provides too, nobody here would
    hear the answer.
    """
    if rocketmq_library() is None and ctypes.util.find_library("rocketmq") is None:
        return False
    get_broker_cluster_info = 106
    header = json.dumps(
        {"code": get_broker_cluster_info, "language": "JAVA", "version": 0, "opaque": 1, "flag": 0}
    ).encode()
    with _connect(_address(f"//{rocketmq_name_server()}", default_port=9876)) as server:
        server.sendall(struct.pack("!ii", 4 + len(header), len(header)) + header)
        (length,) = struct.unpack("!i", _receive(server, 4))
        broker = _BROKER_ADDRESS.search(_receive(server, length))
    if broker is None:
        return False
    with _connect((broker[1].decode(), int(broker[2]))):
        return True


def _rocketmq_grpc_answers() -> bool:
    """Say what a client of HTTP/2 says first: a server that speaks it sends its settings."""
    settings = 4
    with _connect(_address(f"//{rocketmq_grpc_endpoint()}", default_port=8081)) as server:
        server.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + struct.pack("!3xB5x", settings))
        return _receive(server, 9)[3] == settings


def _kafka_answers() -> bool:
    """Ask which requests it knows, in version 0; the answer repeats the number that we gave."""
    api_versions, number = 18, 7
    request = struct.pack("!hhih", api_versions, 0, number, -1)
    first = kafka_bootstrap().split(",")[0]
    with _connect(_address(f"//{first}", default_port=9092)) as server:
        server.sendall(struct.pack("!i", len(request)) + request)
        (answered,) = struct.unpack("!4xi", _receive(server, 8))
        return bool(answered == number)


def _rabbitmq_answers() -> bool:
    method = b"\x01"
    with _connect(_address(rabbitmq_url(), default_port=5672)) as server:
        server.sendall(b"AMQP\x00\x00\x09\x01")
        return _receive(server, 1) == method


def _redis_answers() -> bool:
    with _connect(_address(redis_url(), default_port=6379)) as server:
        server.sendall(b"PING\r\n")
        return _receive(server, 5) in {b"+PONG", b"-NOAU"}  # the latter asks for a password


_PROBES: dict[str, Callable[[], bool]] = {
    "postgresql": _postgresql_answers,
    "mariadb": _mariadb_answers,
    "rocketmq": _rocketmq_answers,
    "rocketmq-grpc": _rocketmq_grpc_answers,
    "kafka": _kafka_answers,
    "rabbitmq": _rabbitmq_answers,
    "redis": _redis_answers,
    "remoting-python": lambda: remoting_python().exists(),
    "grpc-python": lambda: grpc_python().exists(),
}


def _address(url: str, *, default_port: int) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or default_port


def _connect(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=_TIMEOUT_SECONDS)


def _receive(server: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = server.recv(size - len(received))
        if not part:
            raise ConnectionError(f"closed after {len(received)} of {size} bytes")
        received += part
    return received
