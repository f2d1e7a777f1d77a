"""Forked children of a script; without pytest, which would take a script longest to import."""

import os
import signal
import sys
from collections.abc import Callable, Iterable

# What a child of a script may take; one that hangs is ended by the system, and fails the test.
_LONGEST_CHILD_SECONDS = 40


def in_child(work: Callable[[], object]) -> int:
    """Begin work in a forked child, which ends with 0 if all went well; return its process id."""
    child = os.fork()
    if child:
        return child
    signal.alarm(_LONGEST_CHILD_SECONDS)
    try:
        work()
    except BaseException as error:  # noqa: BLE001  # the process's outermost frame
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def exit_codes(children: Iterable[int]) -> list[int]:
    """Wait for the end of children."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
