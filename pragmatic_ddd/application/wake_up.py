"""A sleep that others may cut short, also a signal handler and a forked child."""

import queue
import time

import attrs

# A signal that comes at the very moment before a wait does not end it: its handler is called
# after the wait.
_LONGEST_WAIT_SECONDS = 1.0


@attrs.frozen(eq=False)
class WakeUp:
    """Remembers that somebody called, until the sleeper has noticed. Safe to share.

    No ``threading.Event``: its lock is not reentrant, so a signal handler that sets it in the
    very thread that is about to wait for it would wait for ever, and a child that was forked
    at that moment, too. A ``SimpleQueue`` may be put to at any time.
    """

    _calls: "queue.SimpleQueue[None]" = attrs.field(factory=queue.SimpleQueue, init=False)

    def call(self) -> None:
        """End the present sleep, or the next one if nobody sleeps. Never waits."""
        if self._calls.empty():
            self._calls.put(None)

    def forget(self) -> None:
        """Forget the calls until now."""
        try:
            while True:
                self._calls.get_nowait()
        except queue.Empty:
            return

    def sleep(self, seconds: float) -> bool:
        """Sleep that long, or until somebody calls; return whether somebody did."""
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, end - time.monotonic())
            try:
                self._calls.get(timeout=min(left, _LONGEST_WAIT_SECONDS))
            except queue.Empty:
                if left <= _LONGEST_WAIT_SECONDS:
                    return False
            else:
                return True
