"""What must be made anew in a forked child: locks that the parent may hold, threads it lacks."""

import os
import weakref
from collections.abc import Callable


def reset_in_child(method: Callable[[], None]) -> None:
    """Call a bound method in every process forked from now on, as long as its object lives.

    Where the platform has no ``fork`` nothing happens.
    """
    if not hasattr(os, "register_at_fork"):
        return
    weak = weakref.WeakMethod(method)

    def reset() -> None:
        alive = weak()
        if alive is not None:
            alive()

    os.register_at_fork(after_in_child=reset)
