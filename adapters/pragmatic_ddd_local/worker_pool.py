"""A bounded pool of workers that knows every job it has taken on, queued or postponed."""

import datetime as dt
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

import attrs

_logger = logging.getLogger(__name__)


@attrs.frozen(eq=False)
class Job:
    """One call to make.

    Attributes:
        description: For people, should it be left undone.
        run: Makes the call.
    """

    description: str
    run: Callable[[], None]


@attrs.define(eq=False)
class WorkerPool:
    """Threads that make calls. Full or closed, it lets whoever brings a job make the call.

    Attributes:
        name: First part of the threads' names.
        workers: How many threads.
        queue_size: How many jobs may wait.
    """

    name: str
    workers: int
    queue_size: int
    _queue: deque[Job] = attrs.field(factory=deque, init=False)
    _unfinished: set[Job] = attrs.field(factory=set, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)
    _threads: list[threading.Thread] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _queued: threading.Condition = attrs.field(init=False)
    _advanced: threading.Condition = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._queued = threading.Condition(self._lock)
        self._advanced = threading.Condition(self._lock)

    def start(self) -> None:
        """Start the threads; they do not keep the interpreter alive."""
        for number in range(self.workers):
            name = f"{self.name}-{number}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def expect(self, job: Job) -> None:
        """Note a job that will be submitted later: the pool is not idle before it is done."""
        with self._lock:
            self._unfinished.add(job)

    def submit(self, job: Job) -> None:
        """Have a job done by a worker; by this thread where the queue has no room for it."""
        with self._lock:
            self._unfinished.add(job)
            has_room = not self._is_closed and len(self._queue) < self.queue_size
            if has_room:
                self._enqueue(job)
        if not has_room:
            self._do(job)

    def hand_over(self, job: Job) -> None:
        """Have a job done by a worker, waiting for room; for a thread that must not do it."""
        with self._lock:
            self._unfinished.add(job)
            while not self._is_closed and len(self._queue) >= self.queue_size:
                self._advanced.wait()
            if not self._is_closed:
                self._enqueue(job)

    def wait_until_idle(self, timeout: dt.timedelta) -> bool:
        """Wait until every job is done; return whether that was reached in time."""
        with self._lock:
            return self._advanced.wait_for(
                lambda: not self._unfinished, max(0.0, timeout.total_seconds())
            )

    def close(self) -> list[Job]:
        """Begin no more jobs; return those that are not finished."""
        with self._lock:
            self._is_closed = True
            self._queue.clear()
            self._queued.notify_all()
            self._advanced.notify_all()
            return list(self._unfinished)

    def join(self, timeout: dt.timedelta) -> None:
        """Wait until the threads have ended, at most that long: a handler may hang."""
        deadline = time.monotonic() + timeout.total_seconds()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _enqueue(self, job: Job) -> None:
        self._queue.append(job)
        self._queued.notify()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._do(job)
            except BaseException:  # the thread's outermost frame: a handler may call sys.exit()
                _logger.exception("%s tried to end its worker and is given up", job.description)

    def _next(self) -> Job | None:
        with self._lock:
            while not self._queue and not self._is_closed:
                self._queued.wait()
            if self._is_closed:
                return None
            self._advanced.notify_all()
            return self._queue.popleft()

    def _do(self, job: Job) -> None:
        try:
            job.run()
        finally:
            with self._lock:
                self._unfinished.discard(job)
                self._advanced.notify_all()
