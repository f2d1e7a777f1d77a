"""How a process ends in which a native client was started.

When a process ends, the library's own destructors wait for its threads: for ever where a client
was not shut down, as none is safely, or where a child made by ``fork`` has ended before and
taken the library's wake-up call with it. So the destructors never run here. At the end of the
interpreter every live client is closed, within bounds, and then the C library is told to leave
with ``_exit`` and the exit status that the process has, before any destructor.

A service that consumes ends its ``main`` with ``leave_process`` instead, so that no native
thread delivers into an interpreter that is being taken down.
"""

import atexit
import ctypes
import logging
import os
import sys
import threading
from typing import NoReturn, Protocol

import attrs

from pragmatic_ddd_rocketmq.errors import RocketMqStartError

_logger = logging.getLogger(__name__)


class NativeClient(Protocol):
    """A producer or consumer that has native threads."""

    def end(self) -> None:
        """Let no native thread call Python any more, within a bound. Never raises."""


@attrs.define(eq=False)
class _Process:
    """The native clients of this process. Global, because the library's threads are."""

    pid: int | None = None
    clients: list[NativeClient] = attrs.field(factory=list)
    lock: "threading.RLock" = attrs.field(factory=threading.RLock)  # a handler may shut down


_process = _Process()


def refuse_after_fork() -> None:
    """Refuse to start a client where the process that forked this one had started one.

    Raises:
        RocketMqStartError: The library is dead in this process, also for new clients.
    """
    if _process.pid not in (None, os.getpid()):
        raise RocketMqStartError(
            f"RocketMQ was started in process {_process.pid} before it forked this one: the "
            f"native library does not survive a fork. Start it in the worker, never before"
        )


def keep_until_end(client: NativeClient) -> None:
    """Hold a client that is being started, and end it when the process ends."""
    refuse_after_fork()
    with _process.lock:
        if _process.pid is None:
            _process.pid = os.getpid()
            atexit.register(_end_process)
        if client not in _process.clients:
            _process.clients.append(client)


def let_go(client: NativeClient) -> None:
    """Forget a client that was closed, or did not start."""
    with _process.lock:
        if client in _process.clients:
            _process.clients.remove(client)


def leave_process(status: int = 0) -> NoReturn:
    """End the process at once: the last call in the ``main`` of a service that consumes.

    Ends every native client within bounds, flushes logging and the standard streams, and
    leaves without running destructors, ``atexit`` functions or ``finally`` blocks further up.
    Whatever else must be finished, such as an eager publisher, is finished before.

    Args:
        status: Exit status of the process.
    """
    try:
        _end_clients()
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(status)


def _end_process() -> None:
    """Make sure of the end first, then end what lives."""
    try:
        leave_without_destructors()
    except (OSError, AttributeError):
        status_is_kept = False
    else:
        status_is_kept = True
    _end_clients()
    if status_is_kept:
        return
    _logger.error(
        "the C library cannot keep the exit status; leaving with 1: end main() with "
        "leave_process(status)"
    )
    logging.shutdown()
    os._exit(1)


def _end_clients() -> None:
    if _process.pid != os.getpid():  # a forked child: the clients are its parent's
        return
    with _process.lock:
        consumers_before_producers = list(reversed(_process.clients))
    for client in consumers_before_producers:
        client.end()


def leave_without_destructors() -> None:
    """Have ``exit`` call ``_exit`` with its own status before the destructors that follow.

    Raises:
        AttributeError: The C library has no ``on_exit`` (it is not glibc).
        OSError: It has no room for another function.
    """
    libc = ctypes.CDLL(None)
    libc.fflush(None)  # what _exit would lose
    libc.on_exit.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    leave = ctypes.cast(libc._exit, ctypes.c_void_p)  # noqa: SLF001 - the C function
    if libc.on_exit(leave, None) != 0:
        raise OSError("on_exit failed")
