"""A service that consumes, in a process of its own: it may be killed, stopped, and started again.

What it does with an event it adds to a list at Redis, with a client of its own:

    ["begin", process id, aggregate, total]    when its handler is called
    ["end", process id, aggregate, total]      when it returns
"""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis

from tests.adapters.redis.shop import OrderPaid, a_client, an_event_manager
from tests.script import ROOT, child_environment

_DEADLINE_SECONDS = 60
_DEADLY = 13  # an event with this total ends the process that handles it, where that is asked for


@contextmanager
def a_consumer(**settings: Any) -> Iterator["subprocess.Popen[bytes]"]:  # noqa: ANN401
    """Start a consumer; kill it in the end, if it still runs.

    Args:
        settings: ``topic``, ``group`` and ``record`` (the list); perhaps ``partitions``,
            ``max_attempts``, ``work_seconds`` and ``dies`` (at an event).
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.redis.consumer_process", json.dumps(settings)],
        cwd=ROOT,
        env=child_environment(),
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def recorded(client: "redis.Redis", record: str) -> list[tuple[str, int, str, int]]:
    """Return what consumers have recorded, in order."""
    return [tuple(json.loads(line)) for line in client.lrange(record, 0, -1)]


def wait_until(is_so: Callable[[], bool], shown: Callable[[], object]) -> None:
    """Wait for something; fail with what is shown in place of it."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"not in time: {shown()}"
        time.sleep(0.02)


def _consume(settings: dict[str, Any]) -> None:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    manager = an_event_manager(
        settings["topic"],
        consumer_group=settings["group"],
        partitions=settings.get("partitions", 1),
        max_attempts=settings.get("max_attempts", 3),
        retry_backoff_base=dt.timedelta(milliseconds=50),
        lease=dt.timedelta(seconds=settings.get("lease_seconds", 3)),
    )
    with a_client() as client:

        def note(what: str, event: OrderPaid) -> None:
            line = json.dumps([what, os.getpid(), event.aggregate_id, event.total])
            client.rpush(settings["record"], line)

        def handle(event: OrderPaid) -> None:
            note("begin", event)
            if settings.get("dies") and event.total == _DEADLY:
                os._exit(1)
            time.sleep(settings.get("work_seconds", 0.0))
            note("end", event)

        manager.register_subscriber("desk", OrderPaid, handle)
        with manager:
            stopped.wait()


if __name__ == "__main__":
    _consume(json.loads(sys.argv[1]))
