"""What a relay does beside sending: tidying, retention, measuring the backlog."""

import datetime as dt
import time
from collections.abc import Callable

import attrs
from attrs import validators

from pragmatic_ddd.ports.metrics import IEventMetrics
from pragmatic_ddd.ports.outbox import IOutboxStore

_TIDY_EVERY_FULL_ROUNDS = 20
_SHORTEST_TIDY_PAUSE_SECONDS = 1.0  # a relay that is woken for each commit is never full


@attrs.define(eq=False, kw_only=True)
class OutboxMaintenance:
    """Keeps the table small and the claim fast, in bounded steps, under load too.

    Used by one thread. A step never takes more than a few statements, so that it delays the
    sending by moments; it is due by time, so that constant load does not starve it.

    Attributes:
        store: The outbox.
        metrics: Told of the backlog.
        retention: How long SENT and SKIPPED rows are kept.
        purge_batch: Most rows deleted in one step.
        measure_every: Pause between two measurements of the backlog.
        purge_every: Pause between two purges once nothing is left to delete.
    """

    store: IOutboxStore
    metrics: IEventMetrics
    retention: dt.timedelta
    purge_batch: int = attrs.field(default=1000, validator=validators.ge(1))
    measure_every: dt.timedelta = dt.timedelta(seconds=30)
    purge_every: dt.timedelta = dt.timedelta(minutes=1)
    monotonic: Callable[[], float] = time.monotonic
    _full_rounds: int = attrs.field(default=0, init=False)
    _next_tidy: float = attrs.field(default=0.0, init=False)
    _next_measure: float = attrs.field(default=0.0, init=False)
    _next_purge: float = attrs.field(default=0.0, init=False)

    def step(self, *, round_was_full: bool) -> None:
        """Do what is due after a round of the relay.

        Raises:
            OutboxStoreError: The database failed; the rest is done another time.
        """
        self._full_rounds = self._full_rounds + 1 if round_was_full else 0
        now = self.monotonic()
        if self._full_rounds % _TIDY_EVERY_FULL_ROUNDS == 0 and now >= self._next_tidy:
            self.store.tidy()
            self._next_tidy = now + _SHORTEST_TIDY_PAUSE_SECONDS
        if now >= self._next_purge:
            deleted = self.store.purge(older_than=self.retention, batch_size=self.purge_batch)
            pause = dt.timedelta(seconds=1) if deleted >= self.purge_batch else self.purge_every
            self._next_purge = now + pause.total_seconds()
        if now >= self._next_measure:
            self.metrics.backlog(self.store.backlog())
            self._next_measure = now + self.measure_every.total_seconds()
