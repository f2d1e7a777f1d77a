"""The errors of the relay's rounds: each is told, and the pause after them grows."""

import datetime as dt
import logging

import attrs

from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports.metrics import IEventMetrics

_logger = logging.getLogger(__name__)

_BACKOFF = Backoff(base=dt.timedelta(seconds=1), cap=dt.timedelta(seconds=30))
_SHORTEST_PAUSE = dt.timedelta(seconds=1)


@attrs.define(kw_only=True, eq=False)
class RelayErrors:
    """Logs and counts the errors of rounds in a row. Used by one thread.

    Attributes:
        poll_interval: Where the outbox is away, no pause is longer: else a relay that polls
            every second would come back half a minute after its database.
        metrics: Told of each.
        in_a_row: How many there were since the last round without one.
    """

    poll_interval: dt.timedelta
    metrics: IEventMetrics
    in_a_row: int = attrs.field(default=0, init=False)

    def forget(self) -> None:
        """Note that a round went well."""
        self.in_a_row = 0

    def note(self, error: BaseException) -> dt.timedelta:
        """Tell of an error; return how long to wait before the next round. Never raises."""
        self.in_a_row += 1
        pause = _BACKOFF.delay(self.in_a_row)
        if isinstance(error, PragmaticError) and error.retryable:
            pause = min(pause, max(self.poll_interval, _SHORTEST_PAUSE))
        self._report(error, pause)
        return pause

    def _report(self, error: BaseException, pause: dt.timedelta) -> None:
        known = isinstance(error, PragmaticError)
        if known and self.in_a_row > 1:
            _logger.debug("outbox relay failed %d times in a row: %s", self.in_a_row, error)
        else:
            _logger.error(
                "outbox relay failed and goes on after %.1f s: %s",
                pause.total_seconds(),
                error,
                exc_info=error if not known else None,
            )
        try:
            self.metrics.relay_failed()
        except Exception:  # not even that may end the thread
            _logger.exception("the metrics failed")
