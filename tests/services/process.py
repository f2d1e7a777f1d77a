"""Processes that outlive the one which started them: launch, recognise, signal, wait.

A pid alone is no identity, since the kernel gives it out again; with its start time it is one.
Reads ``/proc``, so Linux only.
"""

import datetime as dt
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.services.error import ServiceError

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Process:
    """One process, never another one that got its pid later.

    Attributes:
        pid: Its number.
        started: When it started, in clock ticks since the machine did.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the process that has this pid now, or None when none is alive."""
        started = _start_time(pid)
        return None if started is None else cls(pid, started)

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """Return the process that ``write`` noted in the file, or None when it is not alive."""
        try:
            pid, started = map(int, file.read_text().split())
        except (OSError, ValueError):
            return None
        process = cls(pid, started)
        return process if process.is_alive() else None

    def write(self, file: Path) -> None:
        """Note pid and start time in the file."""
        file.write_text(f"{self.pid} {self.started}\n")

    def is_alive(self) -> bool:
        """Whether it runs; a zombie that nobody has reaped yet does not."""
        return _start_time(self.pid) == self.started

    def send(self, how: signal.Signals) -> None:
        """Send a signal, unless the process is gone."""
        if self.is_alive():
            os.kill(self.pid, how)

    def has_ended(self, limit: dt.timedelta) -> bool:
        """Wait at most ``limit`` for the end of the process; returns whether it came."""
        return holds(lambda: not self.is_alive(), limit)


def holds(condition: Callable[[], bool], limit: dt.timedelta) -> bool:
    """Wait at most ``limit`` until the condition is true; returns whether it became so."""
    end = time.monotonic() + limit.total_seconds()
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def processes_in(directory: Path, program: str) -> list[Process]:
    """Return every live process of that program whose working directory is this one."""
    found = []
    folder = directory.resolve()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            runs_it = (entry / "comm").read_text().strip() == program
            if runs_it and (entry / "cwd").readlink() == folder:
                found.append(Process.of(int(entry.name)))
    return [process for process in found if process is not None]


def launch(
    command: Sequence[str], *, cwd: Path, log: Path, environment: Mapping[str, str]
) -> Process:
    """Start a server that belongs to no one: no signal of a terminal and no exit of ours ends it.

    It is not our child, so nothing has to reap it.

    Raises:
        ServiceError: The command ended before it could be seen.
    """
    # The shell says its pid and becomes the server, which closes the pipe.
    shell = ["setsid", "--fork", "sh", "-c", 'echo $$; exec "$@" >&2', "sh"]
    with log.open("ab") as output:
        started = subprocess.run(
            [*shell, *command],
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            check=True,
        )
    process = Process.of(int(started.stdout))
    if process is None:
        raise ServiceError(f"{command[0]} ended at once", log)
    return process


def run(
    command: Sequence[str],
    *,
    log: Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command to its end; what it prints goes to the log.

    Raises:
        ServiceError: It failed, or there is no such program.
    """
    try:
        with log.open("ab") as output:
            done = subprocess.run(
                command,
                cwd=cwd,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            )
    except FileNotFoundError as error:
        raise ServiceError(f"there is no program {command[0]}") from error
    if done.returncode:
        raise ServiceError(f"{Path(command[0]).name} failed ({done.returncode})", log)


def _start_time(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name in parentheses may hold blanks; after it fields are counted from 0, the state.
    fields = stat.rpartition(")")[2].split()
    state, threads, started = fields[0], int(fields[17]), int(fields[19])
    # A first thread that is a zombie beside others is a process on its way out, ports still open.
    return None if state in "ZX" and threads <= 1 else started
