"""The one thread of the eager publisher that talks to the outbox: settles, and claims."""

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Sequence

import attrs

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.application.outbox.finished_lane import FinishedLane
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from pragmatic_ddd.application.outbox.lane_claims import DueClaim
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, StoredMessage

_logger = logging.getLogger(__name__)

_NOTHING = dt.timedelta()
_AFTER_ERROR = Backoff(base=dt.timedelta(milliseconds=100), cap=dt.timedelta(seconds=5))


@attrs.define(kw_only=True, eq=False)
class Coordinator:
    """Writes all results that have gathered meanwhile at once; claims what nobody owns.

    Attributes:
        board: The lanes.
        store: The outbox.
        config: Lease of its claims, and most messages of one claim.
        health: While the broker is away nothing is claimed.
        metrics: What is counted.
        leave_to_relay: Told how many messages are given up; zero when there is one to be tried
            again later. Wakes the relay; never raises.
    """

    board: LaneBoard
    store: IOutboxStore
    config: OutboxRelayConfig
    health: BrokerHealth
    metrics: IEventMetrics
    leave_to_relay: Callable[[int], None]
    _unwritten: Settlement = attrs.field(factory=Settlement, init=False)
    _unsettled: list[FinishedLane] = attrs.field(factory=list, init=False)

    def run(self) -> None:
        """Work until the board is closed and empty, or aborted. Survives every error."""
        errors = 0
        while True:
            # What could not be written is tried again, whether or not anything else happens.
            wait = self.board.is_aborted or not self._is_behind
            finished = self.board.take_finished(wait=wait)
            if finished is None and not self._is_behind:
                break
            try:
                if self.board.is_aborted:
                    self._give_back(self.board.give_up_everything())
                self._settle(finished or [])
                self._claim()
                if self.board.take_passed():
                    self.leave_to_relay(0)
                errors = 0
            except BaseException as error:  # noqa: BLE001  # the thread's outermost frame
                errors += 1
                self._report(error, errors)
                if finished is None:
                    break
                self.board.pause(_AFTER_ERROR.delay(errors).total_seconds())

    @property
    def _is_behind(self) -> bool:
        return bool(self._unsettled or len(self._unwritten))

    def _settle(self, finished: Sequence[FinishedLane]) -> None:
        for one in finished:
            self._unwritten.add(one.outcome)
        self._unsettled += finished
        self._unwritten.write(self.store, self.metrics, PublishPath.EAGER)
        settled, self._unsettled = self._unsettled, []
        untried = sum(len(one.outcome.untried) for one in settled)
        if untried or any(one.outcome.failed for one in settled):
            self.leave_to_relay(untried)
        self._give_back([stored for one in settled for stored in self.board.advance(one)])

    def _claim(self) -> None:
        due = self.board.due_claims(self.config.batch_size)
        if not due:
            return
        hopeless = self.board.is_closing or self.health.probe_in > _NOTHING
        given_up = [
            stored
            for one in due
            if hopeless or one.is_hopeless
            for stored in self.board.give_up(one.lane)
        ]
        try:
            self._claim_for([one for one in due if not (hopeless or one.is_hopeless)])
        finally:
            self._give_back(given_up)

    def _claim_for(self, wanted: Sequence[DueClaim]) -> None:
        if not wanted:
            return
        claims: dict[tuple[str, str], list[ClaimedMessage]] = {}
        taken: frozenset[int] = frozenset()
        try:
            rows = [row for one in wanted for row in one.ids]
            for claimed in self.store.claim(rows, lease=self.config.lease):
                claims.setdefault(claimed.message.aggregate, []).append(claimed)
            taken = self._taken_by_others(
                row
                for one in wanted
                if one.is_kept_waiting and one.lane.aggregate not in claims
                for row in one.ids
            )
        finally:  # after an error, too: the lanes try again later
            for one in wanted:
                self.board.claimed(one.lane, claims.get(one.lane.aggregate, []), taken)

    def _taken_by_others(self, rows: Iterable[int]) -> frozenset[int]:
        """Return the rows that it need not wait for: a relay has been faster, or will try."""
        asked = frozenset(rows)
        return asked - self.store.unclaimed(sorted(asked)) if asked else asked

    def _give_back(self, given_up: Sequence[StoredMessage]) -> None:
        """Leave messages to the relay: those that are owned go back in one statement."""
        if not given_up:
            return
        self._unwritten.untried += [one.claim for one in given_up if one.claim is not None]
        try:
            self._unwritten.write(self.store, self.metrics, PublishPath.EAGER)
        finally:  # what could not be written is tried again with the next results
            self.board.let_go(len(given_up))
            self.leave_to_relay(len(given_up))

    def _report(self, error: BaseException, errors: int) -> None:
        known = isinstance(error, PragmaticError)
        if known and errors > 1:
            _logger.debug("eager publisher failed %d times in a row: %s", errors, error)
            return
        _logger.error(
            "eager publisher cannot write its results and tries again: %s",
            error,
            exc_info=not known,
        )
