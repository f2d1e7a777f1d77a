"""Threads that do one thing and end; tests run them in an order of their own."""

import threading
from collections.abc import Callable

StartThread = Callable[[str, Callable[[], None]], threading.Thread]


def start_thread(name: str, work: Callable[[], None]) -> threading.Thread:
    """Start a thread. The end of the interpreter does not wait for it.

    Raises:
        RuntimeError: There are no more threads to be had.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread
