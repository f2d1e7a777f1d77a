"""A socket to the broker: connected to the first address that answers, encrypted where asked for.

Afterwards it does not block; until then everything ends at a deadline, but the resolving of names.
"""

import select
import socket
import ssl
import time


def connected_socket(
    host: str, port: int, *, encryption: ssl.SSLContext | None, deadline: float
) -> socket.socket:
    """Return a socket that does not block.

    Args:
        host: Name or address.
        port: Where it listens.
        encryption: For TLS; ``None`` for none.
        deadline: Reading of the monotonic clock until which it has to be connected.

    Raises:
        OSError: It cannot be, or not until the deadline.
    """
    plain = _plain_socket(host, port, deadline)
    if encryption is None:
        return plain
    encrypted = encryption.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    try:
        _shake_hands(encrypted, deadline)
    except BaseException:
        encrypted.close()
        raise
    return encrypted


def seconds_left(deadline: float) -> float:
    """Return how long there is to wait.

    Args:
        deadline: Reading of the monotonic clock.

    Raises:
        TimeoutError: It has passed.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _plain_socket(host: str, port: int, deadline: float) -> socket.socket:
    error: OSError = OSError(f"{host} has no address")
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for family, kind, protocol, _, address in addresses:
        try:
            return _socket_to(family, kind, protocol, address, deadline)
        except OSError as failure:
            error = failure
    raise error


def _socket_to(
    family: int, kind: int, protocol: int, address: object, deadline: float
) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.settimeout(seconds_left(deadline))
        made.connect(address)  # type: ignore[arg-type]  # as getaddrinfo gave it
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.settimeout(0)
    except BaseException:
        made.close()
        raise
    return made


def _shake_hands(encrypted: ssl.SSLSocket, deadline: float) -> None:
    while True:
        poll = select.poll()
        try:
            encrypted.do_handshake()
        except ssl.SSLWantReadError:
            poll.register(encrypted, select.POLLIN)
        except ssl.SSLWantWriteError:
            poll.register(encrypted, select.POLLOUT)
        else:
            return
        poll.poll(seconds_left(deadline) * 1000)
