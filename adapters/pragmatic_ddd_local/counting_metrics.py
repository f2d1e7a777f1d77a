"""Metrics that count in memory, for tests and for a look at a small program."""

import threading
from collections import Counter

import attrs

from pragmatic_ddd.ports import Backlog, PublishPath

_Labels = tuple[tuple[str, object], ...]


@attrs.define(eq=False)
class CountingMetrics:
    """Counts every call; ``count`` reads.

    Attributes:
        last_backlog: What was measured last; ``None`` before.
    """

    last_backlog: Backlog | None = attrs.field(default=None, init=False)
    _counts: "Counter[tuple[str, _Labels]]" = attrs.field(factory=Counter, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def count(self, name: str, **labels: object) -> int:
        """Return how often something was counted.

        Args:
            name: A method of ``IEventMetrics``, such as ``published``.
            labels: What its arguments must have been, such as ``path=PublishPath.EAGER``; those
                that are left out may have been anything.
        """
        wanted = set(labels.items())
        with self._lock:
            return sum(
                number
                for (counted, with_labels), number in self._counts.items()
                if counted == name and wanted <= set(with_labels)
            )

    def published(self, event_type: str, path: PublishPath) -> None:
        self._add("published", event_type=event_type, path=path)

    def publish_failed(self, event_type: str, path: PublishPath, *, counted: bool) -> None:
        self._add("publish_failed", event_type=event_type, path=path, counted=counted)

    def dead_lettered(self, event_type: str) -> None:
        self._add("dead_lettered", event_type=event_type)

    def left_to_relay(self, count: int) -> None:
        self._add("left_to_relay", number=count)

    def lease_lost(self, path: PublishPath, count: int) -> None:
        self._add("lease_lost", number=count, path=path)

    def consumed(self, event_type: str, subscriber: str) -> None:
        self._add("consumed", event_type=event_type, subscriber=subscriber)

    def consume_failed(self, event_type: str, subscriber: str, *, final: bool) -> None:
        self._add("consume_failed", event_type=event_type, subscriber=subscriber, final=final)

    def relay_failed(self) -> None:
        self._add("relay_failed")

    def backlog(self, backlog: Backlog) -> None:
        self.last_backlog = backlog
        self._add("backlog")

    def _add(self, name: str, *, number: int = 1, **labels: object) -> None:
        with self._lock:
            self._counts[name, tuple(labels.items())] += number
