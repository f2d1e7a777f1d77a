"""Start, stop and kill the real servers that the tests need, and say which are up."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.services import debian, native_library
from tests.services.catalogue import NAMES, services
from tests.services.error import ServiceError
from tests.services.service import Service, ServiceState

_LAST_LINES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    for name in parsed.names:
        if name not in NAMES:
            parser.error(f"no service is called {name}; there are {', '.join(NAMES)}")
    if sys.platform != "linux":
        parser.error("the services run on Linux only")
    actions = {"start": _start, "stop": _stop, "kill": _kill, "status": _status}
    return 0 if actions[parsed.action](services(parsed.names)) else 1


@dataclass(frozen=True)
class _Task:
    """Something to do beside other tasks, and what to print when it is done."""

    name: str
    do: Callable[[], None]
    outcome: str
    detail: str = ""

    def succeeds(self) -> bool:
        begun = time.monotonic()
        try:
            self.do()
        except ServiceError as error:
            _complain(self.name, error)
            return False
        taken = f"after {time.monotonic() - begun:.1f} s"
        print(f"{self.name:16} {self.outcome} {taken}  {self.detail}".rstrip(), flush=True)
        return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tests/services",
        description=__doc__,
        epilog="Ports and what may be set: tests/services/README.md.",
    )
    parser.add_argument("action", choices=["start", "stop", "kill", "status"])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; none means all"
    )
    return parser


def _start(chosen: Sequence[Service]) -> bool:
    needs = [one.server.packages for one in chosen]
    tasks = [_Task(one.name, one.start, "ready", one.url) for one in chosen]
    if any(one.name.startswith("rocketmq") for one in chosen):
        needs.append(native_library.needs())
        tasks.append(_Task("rocketmq library", native_library.provide, "ready"))
    try:
        debian.install(needs)
    except ServiceError as error:
        _complain("tests/services", error)
        return False
    return _side_by_side(tasks)


def _stop(chosen: Sequence[Service]) -> bool:
    return _side_by_side([_Task(one.name, one.stop, "down") for one in chosen])


def _kill(chosen: Sequence[Service]) -> bool:
    return _side_by_side([_Task(one.name, one.kill, "down") for one in chosen])


def _status(chosen: Sequence[Service]) -> bool:
    states = [one.state for one in chosen]
    for one, state in zip(chosen, states, strict=True):
        process = one.process
        line = f"{one.name:16} {state:8} {process.pid if process else '-':>8}  {one.url}"
        port = one.taken_port if state is ServiceState.TAKEN else None
        print(line if port is None else f"{line}  {port.number} by {port.owner()}")
    return all(state is ServiceState.UP for state in states)


def _side_by_side(tasks: Sequence[_Task]) -> bool:
    with ThreadPoolExecutor(len(tasks)) as pool:
        return all(list(pool.map(_Task.succeeds, tasks)))


def _complain(name: str, error: ServiceError) -> None:
    print(f"{name}: {error}", file=sys.stderr)
    if error.log is not None and error.log.exists():
        for line in error.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]:
            print(f"    {line}", file=sys.stderr)
