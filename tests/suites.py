"""Runs the suites of tests side by side: most of what each of them does is wait.

    python -m tests.suites

What the main one prints is seen at once. What another one prints goes to a file, to be watched
there, and is printed after the end of all. None is left behind where they are interrupted.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests import servers
from tests.script import ROOT

_LOGS = Path("build", "tests")
# Each of these waits for its broker, nearly all of its time.
_BROKERS = [f"tests/adapters/{name}" for name in ("kafka", "rabbitmq", "redis", "rocketmq")]


@attrs.frozen
class Suite:
    """Tests that a process of their own runs.

    Attributes:
        name: What it is called.
        command: What runs it.
        log: What gets its output; None where that is seen at once.
    """

    name: str
    command: Sequence[str]
    log: Path | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Return its process, which runs."""
        if self.log is None:
            return self._start(None)
        print(f"{self.name}: its output is in {self.log}", flush=True)
        with self.log.open("wb") as log:
            return self._start(log.fileno())

    def _start(self, output: int | None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def main() -> int:
    """Run all tests; returns 0 if they passed."""
    _LOGS.mkdir(parents=True, exist_ok=True)
    python, grpc_python = sys.executable, str(servers.grpc_python())
    return run(
        _beside("rocketmq_grpc", grpc_python, "tests/adapters/rocketmq_grpc"),
        _beside("brokers", python, *_BROKERS),
        Suite("main", [python, "-m", "pytest", *(f"--ignore={folder}" for folder in _BROKERS)]),
    )


def _beside(name: str, python: str, *folders: str) -> Suite:
    # Each remembers in a folder of its own what has failed: the last one would forget the others'.
    memory = ["-o", f"cache_dir={_LOGS / name}"]
    command = [python, "-u", "-m", "pytest", *memory, *folders]
    return Suite(name, command, _LOGS / f"{name}.log")


def run(*suites: Suite) -> int:
    """Run suites side by side, each to its end; returns 0 if each has ended with 0.

    To be called in the main thread: it has signals of its own.
    """
    received: list[int] = []
    processes: list[subprocess.Popen[bytes]] = []

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        for process in processes:
            process.send_signal(signal.SIGINT)

    # A terminal interrupts every one of them by itself; a second time would hurt their cleaning up.
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    signal.signal(signal.SIGTERM, interrupt)
    try:
        for suite in suites:
            processes.append(suite.start())  # noqa: PERF401  # what has begun is to be known
    except BaseException:
        interrupt(signal.SIGINT, None)
        raise
    if received:
        interrupt(received[0], None)
    statuses = [process.wait() for process in processes]
    if received:
        return 128 + received[0]
    _report(suites, statuses)
    return 1 if any(statuses) else 0


def _report(suites: Sequence[Suite], statuses: Sequence[int]) -> None:
    for suite in suites:
        if suite.log is not None:
            print(f"\n{suite.name}:\n\n{suite.log.read_text(errors='replace')}")
    for suite, status in zip(suites, statuses, strict=True):
        print(f"{suite.name}: {f'failed ({status})' if status else 'passed'}")


if __name__ == "__main__":
    sys.exit(main())
