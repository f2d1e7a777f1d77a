"""Waiting for what nobody tells."""

import time
from collections.abc import Callable

_GLANCE_SECONDS = 0.02


def wait_until(
    is_so: Callable[[], bool], shown: Callable[[], object] = lambda: "", *, within: float = 20
) -> None:
    """Wait for a condition; fail with what is shown where it does not come true in time."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, f"not in time: {shown()}"
        time.sleep(_GLANCE_SECONDS)
