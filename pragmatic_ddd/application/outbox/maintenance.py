"""What a relay does beside sending: tidying, retention, measuring the backlog."""

import datetime as dt
import logging
import time
from collections.abc import Callable

import attrs
from attrs import validators

from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports.metrics import IEventMetrics
from pragmatic_ddd.ports.outbox import IOutboxStore

_logger = logging.getLogger(__name__)

_AFTER_ERROR = Backoff(base=dt.timedelta(seconds=2), cap=dt.timedelta(minutes=5))
_TIDY_EVERY_FULL_ROUNDS = 20
_NEXT_PURGE_BATCH = dt.timedelta(seconds=1)
# A relay that is woken for each commit is never full.
_SHORTEST_TIDY_PAUSE = dt.timedelta(seconds=1)
# Where so many rows were in the way of a claim, more of them are likely.
_MANY_ROWS = 1000
_NOTHING = dt.timedelta()
_PURGE = "the purge"
_MEASURING = "measuring the backlog"


@attrs.define(eq=False, kw_only=True)
class OutboxMaintenance:
    """Keeps the table small and the claim fast, in bounded steps, under load too.

    Used by one thread. A step never takes more than a few statements, so that it delays the
    sending by moments; it is due by time, so that constant load does not starve it. What fails
    is put off, longer each time, and hinders neither the sending nor the rest: a role without
    the right to delete must still be able to send.

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
    _has_more_to_tidy: bool = attrs.field(default=False, init=False)
    _next: dict[str, float] = attrs.field(factory=dict, init=False)
    _errors: dict[str, int] = attrs.field(factory=dict, init=False)

    def step(self, *, round_was_full: bool) -> None:
        """Do what is due after a round of the relay. Never raises."""
        self._full_rounds = self._full_rounds + 1 if round_was_full else 0
        if self._full_rounds % _TIDY_EVERY_FULL_ROUNDS == 0 or self._has_more_to_tidy:
            self._do("tidying", self._tidy)
        self._do(_PURGE, self._purge)
        self._do(_MEASURING, self._measure)

    def due_in(self) -> dt.timedelta:
        """Return the time until the purge or the measurement is due."""
        due = min(self._next.get(chore, 0.0) for chore in (_PURGE, _MEASURING))
        return dt.timedelta(seconds=max(0.0, due - self.monotonic()))

    def _do(self, chore: str, work: Callable[[], dt.timedelta]) -> None:
        """Do a chore if it is due; it returns the pause until the next time."""
        if self.monotonic() < self._next.get(chore, 0.0):
            return
        try:
            pause = work()
            self._errors.pop(chore, None)
        except Exception as error:  # noqa: BLE001  # sending matters more than any chore
            errors = self._errors[chore] = self._errors.get(chore, 0) + 1
            pause = _AFTER_ERROR.delay(errors)
            self._report(chore, error, errors)
        self._next[chore] = self.monotonic() + pause.total_seconds()

    def _tidy(self) -> dt.timedelta:
        self._has_more_to_tidy = self.store.tidy() >= _MANY_ROWS
        return _NOTHING if self._has_more_to_tidy else _SHORTEST_TIDY_PAUSE

    def _purge(self) -> dt.timedelta:
        deleted = self.store.purge(older_than=self.retention, batch_size=self.purge_batch)
        return _NEXT_PURGE_BATCH if deleted >= self.purge_batch else self.purge_every

    def _measure(self) -> dt.timedelta:
        self.metrics.backlog(self.store.backlog())
        return self.measure_every

    def _report(self, chore: str, error: Exception, errors: int) -> None:
        known = isinstance(error, PragmaticError)
        if known and errors > 1:
            _logger.debug("%s failed %d times in a row: %s", chore, errors, error)
        else:
            _logger.error(
                "%s failed and is tried again later: %s", chore, error, exc_info=not known
            )
        try:
            self.metrics.relay_failed()
        except Exception:  # not even that may end the thread
            _logger.exception("the metrics failed")
