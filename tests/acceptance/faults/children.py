"""Child processes by fork: a copy of a process that has imported everything starts in no time.

The parent must have one thread and no open connection when it forks.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Self

import attrs


@attrs.define(eq=False)
class Child:
    """A forked process, and how it ended.

    Attributes:
        name: For messages.
        pid: Its process id.
        status: Its exit code, or minus the signal that ended it; ``None`` while it runs.
    """

    name: str
    pid: int
    status: int | None = attrs.field(default=None, init=False)

    @classmethod
    def start(cls, name: str, work: Callable[[], None], *, log: Path) -> Self:
        """Run ``work`` in a child; its output, and a traceback, go to the log."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return cls(name, pid)
        status = 1
        try:
            _redirect(log)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            work()
            status = 0
        except BaseException:  # noqa: BLE001  # the process's outermost frame
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def has_ended(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def has_stopped(self) -> bool:
        """Say whether it stands still since a SIGSTOP."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def wait(self, timeout_seconds: float) -> int:
        """Wait for its end, and return its status.

        Raises:
            TimeoutError: It still runs.
        """
        wait_for(self.has_ended, timeout_seconds, f"{self.name} to end")
        assert self.status is not None
        return self.status

    def send(self, number: signal.Signals) -> None:
        if not self.has_ended():
            os.kill(self.pid, number)

    def end(self, timeout_seconds: float = 10.0) -> int:
        """Ask it to end by SIGTERM, and wait; after the time is over, kill it."""
        self.send(signal.SIGTERM)
        try:
            return self.wait(timeout_seconds)
        except TimeoutError:
            self.send(signal.SIGKILL)
            self.wait(5.0)
            raise


def wait_for(condition: Callable[[], bool], timeout_seconds: float, what: str) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: It did not in that time.
    """
    deadline = time.monotonic() + timeout_seconds
    pause = 0.002
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_seconds:g} s for {what}")
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _redirect(log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
