"""What must be made anew in a forked child: locks that the parent may hold, threads it lacks."""

import os
import weakref
from collections.abc import Callable


def reset_in_child(method: Callable[[], None]) -> None:
    """Call a bound method in every process forked from now on, as long as its object lives.

    Where the platform has no ``fork`` nothing happens.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_weakly(method))


def around_fork(*, before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call bound methods before each fork, and in the parent after it; else as above."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_weakly(before), after_in_parent=_weakly(after))


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    weak = weakref.WeakMethod(method)

    def call() -> None:
        alive = weak()
        if alive is not None:
            alive()

    return call
