"""Work that is done once, in another thread than the one that waits for it.

begin ──▶ handed over ──▶ being done ──▶ over
              └──▶ called off: no thread is to be had, or Ctrl-C comes before it has begun
"""

import contextvars
import logging
import threading
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox.threads import start_thread

_logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Task:
    """Begun by one thread, and done by another.

    Attributes:
        name: The thread's, while it does this.
        work: What is to be done.
        is_called_off: Whether it is never done.
    """

    name: str
    work: Callable[[], object]
    is_called_off: bool = attrs.field(default=False, init=False)
    _has_begun: bool = attrs.field(default=False, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _is_over: threading.Event = attrs.field(factory=threading.Event, init=False)

    def begin(self, start: "StartTask") -> bool:
        """Have it done; return whether there was a thread to be had: otherwise it is called off.

        Raises:
            BaseException: Ctrl-C: it is called off, unless it has begun.
        """
        try:
            start(self)
        except BaseException as error:
            self._call_off()
            if not isinstance(error, RuntimeError):  # of which there is "can't start new thread"
                raise
        return not self.is_called_off

    def run(self, before_end: Callable[[], object] = lambda: None) -> None:
        """Do it, in the calling thread; never raises.

        Args:
            before_end: Called when the thread is free again, before who waits goes on.
        """
        try:
            if self._may_begin():
                contextvars.Context().run(self.work)  # as in a thread that is new
        except BaseException:  # the thread's outermost frame
            _logger.exception("%s has failed", self.name)
        finally:
            before_end()
            self._is_over.set()

    def is_alive(self) -> bool:
        """Say whether it is being done, or will be."""
        return not (self.is_called_off or self._is_over.is_set())

    def join(self) -> None:
        """Wait until it is over. Ctrl-C ends the wait, and the next call waits again."""
        if not self.is_called_off:
            self._is_over.wait()

    def _may_begin(self) -> bool:
        with self._lock:
            self._has_begun = not self.is_called_off
            return self._has_begun

    def _call_off(self) -> None:
        with self._lock:
            self.is_called_off = not self._has_begun


StartTask = Callable[[Task], object]


def start_task(task: Task) -> None:
    """Have a task done by a thread that ends with it.

    Raises:
        RuntimeError: There are no more threads to be had.
    """
    start_thread(task.name, task.run)
