"""What must end before the interpreter does."""

import atexit
import weakref
from collections.abc import Callable


def call_at_exit(method: Callable[[], object]) -> None:
    """Call a bound method when the interpreter ends, if its object still lives then."""
    weak = weakref.WeakMethod(method)

    def call() -> None:
        alive = weak()
        if alive is not None:
            alive()

    atexit.register(call)
