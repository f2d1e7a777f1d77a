"""Threads that do one thing and end; tests run them in an order of their own."""

import datetime as dt
import os
import threading
import time
from collections.abc import Callable, Iterable


class OneThread(threading.Thread):
    """A daemon thread that can be waited for again, after Ctrl-C has ended a wait.

    ``threading.Thread`` cannot before CPython 3.13: a ``join`` that is interrupted takes the thread
    for stopped, so that ``is_alive`` denies it and the next ``join`` returns at once.
    """

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._is_over = threading.Event()
        self._process = os.getpid()

    def run(self) -> None:
        """Do the work; called by the thread itself."""
        try:
            self._work()
        finally:
            self._is_over.set()

    def is_alive(self) -> bool:
        """Say whether it works; in a child that was forked, it does not."""
        has_begun = self.ident is not None
        return has_begun and not self._is_over.is_set() and self._process == os.getpid()

    def join(self, timeout: float | None = None) -> None:
        """Wait until its work is done, at most ``timeout`` seconds."""
        if self.is_alive():
            self._is_over.wait(timeout)


StartThread = Callable[[str, Callable[[], None]], threading.Thread]


def start_thread(name: str, work: Callable[[], None]) -> threading.Thread:
    """Start a thread. The end of the interpreter does not wait for it.

    Raises:
        RuntimeError: There are no more threads to be had.
    """
    thread = OneThread(name, work)
    thread.start()
    return thread


def is_of_the_main_thread() -> bool:
    """Say whether the caller is in the main thread, where people and signals interrupt."""
    return threading.current_thread() is threading.main_thread()


def end_within(timeout: dt.timedelta, threads: Iterable[threading.Thread]) -> bool:
    """Wait for the end of threads, but not of the calling one; return whether all have ended."""
    others = [one for one in threads if one is not threading.current_thread()]
    deadline = time.monotonic() + timeout.total_seconds()
    for thread in filter(threading.Thread.is_alive, others):
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in others)
