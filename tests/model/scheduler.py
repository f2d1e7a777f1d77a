"""Threads that run one at a time, from one point to the next, in the order that the model says.

    scheduler.resume(task) ──▶ the task's thread runs ──▶ pause(point) | wait_for(condition) | end
           ▲                                                        │
           └────────────────────────────────────────────────────────┘

The real code runs in real threads, but never two at once: so the same choices give the same run,
and a process can die, or be left hanging, at every point.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

import attrs

from tests.model.world_clock import WorldClock

_STUCK_SECONDS = 30.0
_MOST_STEPS = 2000


class CrashedError(SystemExit):
    """The process of this thread is dead: nothing of it has effect any more."""


class Task(threading.Thread):
    """One thread of a simulated process; it answers as a thread, by the model's clock.

    Attributes:
        point: Where it stands.
        is_held: Whether it hangs in a call to the broker.
        is_doomed: Whether its process is dead.
        is_over: Whether it has ended.
    """

    def __init__(self, name: str, work: Callable[[], object], scheduler: "Scheduler") -> None:
        super().__init__(name=name, daemon=True)
        self.work = work
        self.scheduler = scheduler
        self.point = "start"
        self.is_held = False
        self.is_doomed = False
        self.is_over = False
        self._waiting: tuple[Callable[[], object], float] | None = None
        self._go = threading.Semaphore(0)
        self.start()

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for something that has not happened."""
        return self._waiting is not None

    @property
    def is_ready(self) -> bool:
        if self.is_over or self.is_held or self.is_doomed:
            return False
        if self._waiting is None:
            return True
        condition, deadline = self._waiting
        return bool(condition()) or self.scheduler.clock.monotonic() >= deadline

    def is_alive(self) -> bool:
        return not self.is_over

    def join(self, timeout: float | None = None) -> None:
        self.scheduler.wait_for(lambda: self.is_over, timeout)

    def pass_baton(self) -> None:
        """Let somebody else run; called by the task itself."""
        if not self.is_doomed:
            self.scheduler.baton.release()
            self._go.acquire()
        if self.is_doomed:
            raise CrashedError

    def wait_for(self, condition: Callable[[], object], deadline: float) -> None:
        self._waiting = (condition, deadline)
        try:
            self.pass_baton()
        finally:
            self._waiting = None

    def take_baton(self) -> None:
        self._go.release()

    def run(self) -> None:
        self._go.acquire()
        try:
            if not self.is_doomed:
                self.work()
        except CrashedError:
            pass
        except BaseException as error:  # noqa: BLE001  # the thread's outermost frame
            self.scheduler.errors.append(error)
        finally:
            self.is_over = True
            self.scheduler.baton.release()


@attrs.define(eq=False)
class Scheduler:
    """Hands the one baton around.

    Attributes:
        clock: What deadlines are measured with.
        errors: What has ended a thread, and should not have.
    """

    clock: WorldClock
    errors: list[BaseException] = attrs.field(factory=list, init=False)
    baton: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0), init=False)
    _running: Task | None = attrs.field(default=None, init=False)

    @property
    def running(self) -> str:
        """The name of the task that is running."""
        return "" if self._running is None else self._running.name

    def resume(self, task: Task) -> None:
        """Let a task run to its next point."""
        self._running = task
        task.take_baton()
        if not self.baton.acquire(timeout=_STUCK_SECONDS):
            raise AssertionError(f"{task.name} is stuck after {task.point}")
        self._running = None

    def run(self, tasks: Sequence[Task], *, most_steps: int = _MOST_STEPS) -> bool:
        """Let tasks run in turn until none can go on; return whether that was reached.

        What is added to them meanwhile runs, too.
        """
        steps = 0
        while ready := [task for task in tasks if task.is_ready]:
            for task in ready:
                if steps >= most_steps:
                    return False
                if task.is_ready:
                    self.resume(task)
                    steps += 1
        return True

    def pause(self, point: str, *, held: bool = False) -> None:
        """Stop here until the model lets this task go on; not in the model's own thread."""
        task = self._running
        if task is not None:
            task.point = point
            task.is_held = held
            task.pass_baton()

    def wait_for(self, condition: Callable[[], object], timeout: float | None) -> bool:
        """Stop here until a condition holds, or time has passed."""
        task = self._running
        if task is None:
            return bool(condition())
        deadline = float("inf") if timeout is None else self.clock.monotonic() + timeout
        while not condition():
            if self.clock.monotonic() >= deadline:
                self.clock.tick()
                return bool(condition())
            task.wait_for(condition, deadline)
        return True

    def kill(self, tasks: Iterable[Task]) -> None:
        """End tasks where they stand: they unwind, and nothing that they call has effect."""
        for task in tasks:
            task.is_doomed = True
            if not task.is_over:
                self.resume(task)


@attrs.frozen(eq=False)
class BatonCondition:
    """Stands in for ``threading.Condition`` where one thread runs at a time."""

    scheduler: Scheduler

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def wait_for(self, condition: Callable[[], object], timeout: float | None = None) -> bool:
        return self.scheduler.wait_for(condition, timeout)

    def notify(self) -> None:
        """Nobody sleeps, either."""

    def notify_all(self) -> None:
        """Nobody sleeps: every condition is looked at before the next step."""


@attrs.define(eq=False)
class BatonQueue:
    """Stands in for a ``queue.SimpleQueue`` of tickets where one thread runs at a time."""

    scheduler: Scheduler
    tickets: int = 0

    def put(self, _: None) -> None:
        self.tickets += 1

    def get(self) -> None:
        self.scheduler.wait_for(lambda: self.tickets, None)
        self.tickets -= 1
