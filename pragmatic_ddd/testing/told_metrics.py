"""What was counted, one by one: for contract suites that ask who told what, and how often."""

import threading

import attrs

from pragmatic_ddd.ports import Backlog, IEventMetrics, PublishPath


@attrs.define(eq=False)
class ToldMetrics(IEventMetrics):
    """Keeps each call as a tuple: the name of what was counted, then its labels."""

    _told: list[tuple[object, ...]] = attrs.field(factory=list, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    def so_far(self, name: str) -> list[tuple[object, ...]]:
        """Return the labels of all calls of one name, in order."""
        with self._changed:
            return self._of(name)

    def wait_for(self, name: str, count: int, timeout_seconds: float) -> list[tuple[object, ...]]:
        """Return the same, once there are that many.

        Raises:
            AssertionError: There are fewer by then.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._of(name)) >= count, timeout_seconds):
                raise AssertionError(f"{count} of {name} expected, told was {self._told}")
            return self._of(name)

    def published(self, event_type: str, path: PublishPath) -> None:
        """Keep it."""
        self._tell("published", event_type, path)

    def publish_failed(self, event_type: str, path: PublishPath, *, counted: bool) -> None:
        """Keep it."""
        self._tell("publish_failed", event_type, path, counted)

    def dead_lettered(self, event_type: str) -> None:
        """Keep it."""
        self._tell("dead_lettered", event_type)

    def left_to_relay(self, count: int) -> None:
        """Keep it."""
        self._tell("left_to_relay", count)

    def lease_lost(self, path: PublishPath, count: int) -> None:
        """Keep it."""
        self._tell("lease_lost", path, count)

    def consumed(self, event_type: str, subscriber: str) -> None:
        """Keep it."""
        self._tell("consumed", event_type, subscriber)

    def consume_failed(self, event_type: str, subscriber: str, *, final: bool) -> None:
        """Keep it."""
        self._tell("consume_failed", event_type, subscriber, final)

    def relay_failed(self) -> None:
        """Keep it."""
        self._tell("relay_failed")

    def backlog(self, backlog: Backlog) -> None:
        """Keep it."""
        self._tell("backlog", backlog)

    def _tell(self, *what: object) -> None:
        with self._changed:
            self._told.append(what)
            self._changed.notify_all()

    def _of(self, name: str) -> list[tuple[object, ...]]:
        return [labels[1:] for labels in self._told if labels[0] == name]
