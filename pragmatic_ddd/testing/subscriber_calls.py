"""What subscribers were called with: recorded by contract suites, from whatever thread."""

import threading

import attrs

from pragmatic_ddd.domain import DomainEvent


@attrs.define(eq=False)
class SubscriberCalls:
    """Records calls, and lets a test wait for them."""

    _calls: list[tuple[str, DomainEvent]] = attrs.field(factory=list, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    def add(self, code: str, event: DomainEvent) -> None:
        """Record one."""
        with self._changed:
            self._calls.append((code, event))
            self._changed.notify_all()

    def wait_for(self, count: int, timeout_seconds: float) -> list[tuple[str, DomainEvent]]:
        """Return all calls once there are that many.

        Raises:
            AssertionError: There are fewer by then.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._calls) >= count, timeout_seconds):
                raise AssertionError(f"{count} calls expected, got {self._calls}")
            return list(self._calls)

    def so_far(self) -> list[tuple[str, DomainEvent]]:
        """Return all calls up to now."""
        with self._changed:
            return list(self._calls)
