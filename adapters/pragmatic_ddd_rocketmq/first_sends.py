"""The first send to a topic goes alone: side by side, the native client fails most of them.

The route and the connection to the broker come with the first send. Threads that send before
they are there fail at once, though nothing is wrong.
"""

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from pragmatic_ddd_rocketmq.errors import NotSentError

LONGEST_WAIT = dt.timedelta(seconds=1)


@attrs.define(eq=False)
class FirstSends:
    """Topics that were sent to, and a lock for each that was not."""

    _known: set[str] = attrs.field(factory=set, init=False)
    _locks: dict[str, threading.Lock] = attrs.field(factory=dict, init=False)
    _guard: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def are_over(self, topic: str) -> bool:
        """Say whether a send to that topic has succeeded, so that none needs to be alone."""
        return topic in self._known

    @contextmanager
    def alone(self, topic: str) -> Iterator[None]:
        """Let a send go; alone, as long as none to that topic has succeeded.

        Raises:
            NotSentError: The first one is under way for a second already; nothing was sent.
        """
        if topic in self._known:
            yield
            return
        with self._guard:
            lock = self._locks.setdefault(topic, threading.Lock())
        if not lock.acquire(timeout=LONGEST_WAIT.total_seconds()):
            raise NotSentError(f"the first send to topic {topic} is still under way")
        if topic in self._known:
            lock.release()
            yield
            return
        try:
            yield
            self._known.add(topic)
        finally:
            lock.release()
