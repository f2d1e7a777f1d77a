"""The processes of one run: all of them end with it, and how each has ended is known."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import attrs

from tests.acceptance.faults.children import Child, wait_for

_PATIENCE_SECONDS = 30.0


@attrs.define(eq=False)
class Crew:
    """Starts processes; those that still run when it is left are killed.

    Attributes:
        log: Gets the output of all of them.
        problems: What went wrong with processes: each is an error of the run.
    """

    log: Path
    problems: list[str] = attrs.field(factory=list, init=False)
    _children: list[Child] = attrs.field(factory=list, init=False)

    def start(self, name: str, work: Callable[[], None]) -> Child:
        child = Child.start(name, work, log=self.log)
        self._children.append(child)
        return child

    def wait(self, children: list[Child], deadline: float) -> bool:
        """Wait until all of them have ended; say whether they had by then, a monotonic time."""
        for child in children:
            try:
                status = child.wait(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                self.problems.append(f"{child.name} still runs when the time is over")
                return False
            self._check(child, status)
        return True

    def wait_for(self, condition: Callable[[], bool], deadline: float, what: str) -> bool:
        """Wait for a condition; say whether it held by then, a monotonic time."""
        try:
            wait_for(condition, max(0.0, deadline - time.monotonic()), what)
        except TimeoutError as error:
            self.problems.append(str(error))
            return False
        return True

    def end(self, children: list[Child]) -> None:
        """Ask them to end, and wait for it."""
        self.problems += [
            f"{child.name} has ended by itself" for child in children if child.has_ended()
        ]
        for child in children:
            child.send(signal.SIGTERM)
        for child in children:
            try:
                self._check(child, child.end(_PATIENCE_SECONDS))
            except TimeoutError:
                self.problems.append(f"{child.name} did not end when asked to")

    def _check(self, child: Child, status: int) -> None:
        if status:
            self.problems.append(f"{child.name} ended by {status}: see {self.log}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for child in self._children:
            child.send(signal.SIGKILL)
            child.wait(_PATIENCE_SECONDS)
