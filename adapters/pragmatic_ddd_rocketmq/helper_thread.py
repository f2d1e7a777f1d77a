"""Native calls on a thread of their own: those of the main thread, and those that may hang.

Only the main thread runs Python's signal handlers, and it runs them between any two steps of
Python code. While it is in the native client the next such step is the queue selector. A handler
that raises (Ctrl-C, ``sys.exit`` on SIGTERM) would raise there, and the library would go on with
whatever lies on its stack. So the main thread never enters the native client to send.

What is used here is written in C and is either done or not done when a handler raises: with a
``Future`` or a ``Condition`` a lock could stay behind that nobody releases. The thread is there
from the start of a client on, because at the end of the interpreter no new one may be made.
"""

import _thread
import datetime as dt
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

AnswerT = TypeVar("AnswerT")

_GLANCE_SECONDS = 1.0


class HelperEndedError(Exception):
    """The thread has ended, and does nothing more."""


@attrs.define(eq=False)
class _Task(Generic[AnswerT]):
    """Something to do, and what came of it once ``done`` is released."""

    work: Callable[[], AnswerT]
    done: "threading.Lock" = attrs.field(factory=threading.Lock, init=False)
    answer: AnswerT | None = attrs.field(default=None, init=False)
    error: BaseException | None = attrs.field(default=None, init=False)

    def run(self) -> None:
        try:
            self.answer = self.work()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
            self.error = error
        finally:
            self.done.release()


@attrs.define(eq=False)
class HelperThread:
    """A thread that does one task after the other."""

    _tasks: "queue.SimpleQueue[_Task[Any] | None]" = attrs.field(
        factory=queue.SimpleQueue, init=False
    )
    _has_ended: bool = attrs.field(default=False, init=False)

    def start(self) -> None:
        """Begin to work. The end of the interpreter does not wait for it."""
        _thread.start_new_thread(self._work, ())

    def stop(self) -> None:
        """End after the tasks that were given before."""
        self._tasks.put(None)

    def call(self, work: Callable[[], AnswerT]) -> AnswerT:
        """Have something done and wait for it; a signal handler may interrupt the waiting only.

        Raises:
            HelperEndedError: The thread has ended, perhaps just now: nothing was done.
            BaseException: What ``work`` raised, or what a signal handler did; then the work
                goes on.
        """
        task = self._begin(work)
        while not task.done.acquire(timeout=_GLANCE_SECONDS):
            if self._has_ended:
                if task.done.acquire(blocking=False):
                    break  # it was the last
                raise HelperEndedError
        if task.error is not None:
            raise task.error
        return task.answer  # type: ignore[return-value]  # without an error there is an answer

    def is_done(self, work: Callable[[], object], *, within: dt.timedelta) -> bool:
        """Have something done; say whether it returned in time. Otherwise it goes on."""
        return self._begin(work).done.acquire(timeout=within.total_seconds())

    def _begin(self, work: Callable[[], AnswerT]) -> _Task[AnswerT]:
        task = _Task(work)
        task.done.acquire()
        self._tasks.put(task)
        return task

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()
        self._has_ended = True


def is_main_thread() -> bool:
    """Say whether signal handlers run in this thread."""
    return threading.current_thread() is threading.main_thread()
