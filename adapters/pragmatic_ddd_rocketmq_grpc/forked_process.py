"""Refuses to make a client where a process before this one has made one.

All clients of a process share one thread, which a forked child does not have: whatever a client
sends in the child, one made there as well, waits for ever.
"""

import os
from typing import Any

import attrs

from pragmatic_ddd_rocketmq_grpc.errors import RocketMqGrpcStartError


@attrs.define(eq=False)
class _Process:
    """Which process has made a client. Global, because that thread is."""

    pid: int | None = None


_process = _Process()


def refuse_after_fork(rpc_client: Any) -> None:  # noqa: ANN401 - the client ships no types
    """Refuse to start in a process that was forked off one that had started a client.

    Args:
        rpc_client: The client's own class; the application may have used it by itself.

    Raises:
        RocketMqGrpcStartError: No client can work in this process.
    """
    thread = getattr(rpc_client, "_io_loop_thread", None)
    is_dead = thread is not None and not thread.is_alive()
    if _process.pid not in (None, os.getpid()) or is_dead:
        raise RocketMqGrpcStartError(
            "a client of RocketMQ was started before this process was forked, and does not "
            "survive that, also not for new clients. Start it in the worker, never before"
        )


def note_client() -> None:
    """Note that this process makes a client."""
    _process.pid = os.getpid()
