"""Other processes: what a process must not see, or may not survive, is tried in one of its own."""

import queue
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.script import ROOT, child_environment

_PREAMBLE = """
import datetime, os, signal, sys, threading, time
from datetime import timedelta
from tests.adapters.rocketmq_grpc.shop import *
"""


def run(
    script: str,
    *,
    timeout: float = 60,
    environment: Mapping[str, str] | None = None,
    preamble: str = _PREAMBLE,
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; one that takes longer than the timeout hangs: that is a failure."""
    return subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            preamble + textwrap.dedent(script),
        ],
        cwd=ROOT,
        env=child_environment(**(environment or {})),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


class Child:
    """A running script, and the lines that it prints."""

    def __init__(self, script: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", _PREAMBLE + textwrap.dedent(script)],
            cwd=ROOT,
            env=child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.output: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, enough: Callable[[list[str]], bool], *, within: float = 60) -> list[str]:
        """Collect lines until there are enough, and return all of them up to now."""
        deadline = time.monotonic() + within
        while not enough(self.output):
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError("\n".join(["not in time:", *self.output[-50:]])) from None
            if line is None:
                raise AssertionError("\n".join(["it has ended:", *self.output[-50:]]))
            self.output.append(line)
        return self.output

    def wait_for_line(self, text: str, *, within: float = 60) -> str:
        """Return the first line that contains a text."""
        lines = self.wait_for(lambda lines: any(text in line for line in lines), within=within)
        return next(line for line in lines if text in line)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


@contextmanager
def started(script: str) -> Iterator[Child]:
    """Run a script beside the test, and kill it where the test leaves it running."""
    child = Child(script)
    try:
        yield child
    finally:
        child.process.kill()
        child.process.wait()
        for pipe in (child.process.stdin, child.process.stdout):
            if pipe is not None:
                pipe.close()
