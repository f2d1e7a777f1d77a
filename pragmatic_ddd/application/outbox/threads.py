"""Threads that do one thing and end; tests run them in an order of their own."""

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterable

StartThread = Callable[[str, Callable[[], None]], threading.Thread]


def start_thread(name: str, work: Callable[[], None]) -> threading.Thread:
    """Start a thread. The end of the interpreter does not wait for it.

    Raises:
        RuntimeError: There are no more threads to be had.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
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
