"""What must end before the interpreter does."""

import atexit
import sys
import weakref
from collections.abc import Callable


def call_at_exit(method: Callable[[], object]) -> None:
    """Call a bound method when the interpreter ends, if its object still lives then.

    A child that ``multiprocessing`` has forked ends without the calls of ``atexit``, so there
    it is one of its finalizers.
    """
    weak = weakref.WeakMethod(method)

    def call() -> None:
        alive = weak()
        if alive is not None:
            alive()

    atexit.register(call)
    children = sys.modules.get("multiprocessing.util")
    processes = sys.modules.get("multiprocessing.process")
    if children is not None and processes is not None and processes.parent_process() is not None:
        children.Finalize(None, call, exitpriority=0)
