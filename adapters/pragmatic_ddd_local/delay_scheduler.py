"""A thread that holds jobs until their time has come, and then hands them to the workers."""

import datetime as dt
import heapq
import itertools
import threading
import time
from collections.abc import Callable

import attrs

from pragmatic_ddd_local.worker_pool import Job, WorkerPool


@attrs.define(eq=False)
class DelayScheduler:
    """Postpones jobs. It makes no calls itself, so a slow one delays no other.

    Attributes:
        name: The thread's name.
        pool: Who does the jobs.
        monotonic: Seconds on a clock that never steps back.
    """

    name: str
    pool: WorkerPool
    monotonic: Callable[[], float] = time.monotonic
    _heap: list[tuple[float, int, Job]] = attrs.field(factory=list, init=False)
    _numbers: "itertools.count[int]" = attrs.field(factory=itertools.count, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)
    _is_hurrying: bool = attrs.field(default=False, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Start the thread; it does not keep the interpreter alive."""
        thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        thread.start()
        self._thread = thread

    def postpone(self, job: Job, delay: dt.timedelta) -> None:
        """Have a job done after a delay; at once while the event manager shuts down."""
        self.pool.expect(job)
        with self._changed:
            if not self._is_hurrying:
                due = self.monotonic() + delay.total_seconds()
                heapq.heappush(self._heap, (due, next(self._numbers), job))
                self._changed.notify()
                return
        self.pool.submit(job)

    def hurry(self) -> None:
        """Have everything done now, and from now on at once."""
        with self._changed:
            self._is_hurrying = True
            self._changed.notify()

    def close(self) -> None:
        """End the thread; what it still holds is not done."""
        with self._changed:
            self._is_hurrying = self._is_closed = True
            self._changed.notify()

    def join(self, timeout: dt.timedelta) -> None:
        """Wait until the thread has ended, at most that long."""
        if self._thread is not None:
            self._thread.join(timeout.total_seconds())

    def _run(self) -> None:
        while (job := self._next()) is not None:
            self.pool.hand_over(job)

    def _next(self) -> Job | None:
        with self._changed:
            while not self._is_closed:
                wait = self._heap[0][0] - self.monotonic() if self._heap else None
                if wait is not None and (wait <= 0 or self._is_hurrying):
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(wait)
        return None
