"""The store as one simulated process has it: every call can be the last, or fail, and is checked.

What the port promises of each call is checked against the rows before and after it: above all
that nobody changes a row that another one owns.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import attrs

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import (
    Backlog,
    ClaimedMessage,
    Delivered,
    FailedTry,
    IOutboxStore,
    OutboxEntry,
    OutboxMessage,
    OutboxStatus,
    Reservation,
    StoredMessage,
)
from tests.model.history import History
from tests.model.holdings import Holdings
from tests.model.outboxes import Outbox
from tests.model.rows import Row
from tests.model.world_clock import WorldClock

T = TypeVar("T")

_ROUNDING = dt.timedelta(milliseconds=2)


class Life(Protocol):
    """The process that calls."""

    settles_beside: bool

    def pause(self, point: str) -> None:
        """Let others run, or die here."""

    def store_fails(self, point: str) -> bool:
        """Say whether the store is to fail here."""


@attrs.define(eq=False, kw_only=True)
class WatchedStore(IOutboxStore):
    """Passes every call on, between two points at which the process may die.

    Attributes:
        holdings: What this path of this process has in hand.
    """

    outbox: Outbox
    history: History
    clock: WorldClock
    life: Life
    holdings: Holdings

    @property
    def settles_beside_claims(self) -> bool:
        return self.life.settles_beside

    def store(
        self, messages: Sequence[OutboxMessage], *, reservation: Reservation | None = None
    ) -> list[StoredMessage]:
        return self.outbox.store.store(messages, reservation=reservation)

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        def claim() -> list[ClaimedMessage]:
            before = self.outbox.rows()
            claimed = self.outbox.store.claim_pending(
                batch_size=batch_size, lease=lease, confirmed_token=confirmed_token
            )
            self._check_claim(claimed, before)
            if not claimed:
                self._check_nothing_was_due(
                    [row for row in before if not row.belongs_to(confirmed_token)]
                )
            if len({one.taken_over for one in claimed}) > 1:
                self.history.breaks("a message that was taken over came with others")
            if any(one.taken_over and one.attempts > 1 for one in claimed) and len(claimed) > 1:
                self.history.breaks("a message lapsed twice, and did not come alone")
            return claimed

        claimed = self._call("claim_pending", claim)
        self.holdings.take(claimed)
        return claimed

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        def claim() -> list[ClaimedMessage]:
            before = self.outbox.rows()
            claimed = self.outbox.store.claim(ids, lease=lease)
            self._check_claim(claimed, before)
            if any(one.taken_over for one in claimed):
                self.history.breaks("a message was taken from its owner by the eager publisher")
            return claimed

        claimed = self._call("claim", claim)
        self.holdings.take(claimed)
        return claimed

    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        return self._call("unclaimed", lambda: self.outbox.store.unclaimed(ids))

    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        receipts = {one.claimed.id: one.receipt for one in delivered}

        def expect(row: Row) -> Row:
            return attrs.evolve(
                row,
                status=OutboxStatus.SENT,
                receipt=receipts[row.id],
                sent_at=self.clock.now(),
            )

        return self._settle(
            "mark_sent",
            [one.claimed for one in delivered],
            lambda: self.outbox.store.mark_sent(delivered),
            expect,
        )

    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        def expect(row: Row) -> Row:
            return attrs.evolve(
                row, status=OutboxStatus.PENDING, claim_token=None, due_at=self.clock.now()
            )

        return self._settle("release", claimed, lambda: self.outbox.store.release(claimed), expect)

    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        tries = {one.claimed.id: one for one in failed}

        def expect(row: Row) -> Row:
            return attrs.evolve(
                _failed_once_more(row, tries[row.id]),
                status=OutboxStatus.PENDING,
                due_at=self.clock.now() + tries[row.id].retry_in,
            )

        return self._settle(
            "retry_later",
            [one.claimed for one in failed],
            lambda: self.outbox.store.retry_later(failed),
            expect,
        )

    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        tries = {one.claimed.id: one for one in failed}

        def expect(row: Row) -> Row:
            return attrs.evolve(_failed_once_more(row, tries[row.id]), status=OutboxStatus.FAILED)

        return self._settle(
            "mark_failed",
            [one.claimed for one in failed],
            lambda: self.outbox.store.mark_failed(failed),
            expect,
        )

    def tidy(self) -> int:
        return self.outbox.store.tidy()

    def next_due_in(self) -> dt.timedelta | None:
        return self.outbox.store.next_due_in()

    def backlog(self) -> Backlog:
        return self.outbox.store.backlog()

    def list_failed(self, *, limit: int = 100, after_id: int = 0) -> list[OutboxEntry]:
        return self.outbox.store.list_failed(limit=limit, after_id=after_id)

    def find(self, message_id: str) -> OutboxEntry | None:
        return self.outbox.store.find(message_id)

    def replay(self, message_ids: Sequence[str], *, out_of_order: bool = False) -> int:
        return self.outbox.store.replay(message_ids, out_of_order=out_of_order)

    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        return self.outbox.store.skip(message_ids, by=by, reason=reason)

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        return self.outbox.store.purge(older_than=older_than, batch_size=batch_size)

    def _call(self, verb: str, work: Callable[[], T]) -> T:
        self._come_to(f"before {verb}")
        result = work()
        self._come_to(f"after {verb}")
        return result

    def _come_to(self, point: str) -> None:
        self.life.pause(point)
        if self.life.store_fails(point):
            raise OutboxStoreError(f"{point}: the connection was lost")

    def _settle(
        self,
        verb: str,
        claimed: Sequence[ClaimedMessage],
        work: Callable[[], int],
        expect: Callable[[Row], Row],
    ) -> int:
        def settle() -> int:
            before = self.outbox.rows()
            kept = work()
            self._check_settled(verb, claimed, before, expect)
            self.holdings.let_go(claimed)
            return kept

        return self._call(verb, settle)

    def _check_claim(self, claimed: Sequence[ClaimedMessage], before: Sequence[Row]) -> None:
        now = self.clock.now()
        rows = {row.id: row for row in before}
        for one in claimed:
            name, row = one.message.message_id, rows[one.id]
            if row.claim_token is not None and row.due_at > now + _ROUNDING:
                self.history.breaks(f"{name} was claimed while another one owned it")
            if not row.is_open or (row.due_at > now + _ROUNDING and row.failures):
                self.history.breaks(f"{name} was claimed, and was not due: {row}")
            self.history.claim(one, self.clock.monotonic())
        self.history.observe(self.outbox.rows())

    def _check_nothing_was_due(self, before: Sequence[Row]) -> None:
        heads: dict[str, Row] = {}
        for row in before:
            if row.is_unsent:
                heads.setdefault(row.aggregate, row)
        for row in heads.values():
            if row.is_open and row.due_at <= self.clock.now() - _ROUNDING:
                self.history.breaks(f"a claim found nothing, and passed over {row}")

    def _check_settled(
        self,
        verb: str,
        claimed: Sequence[ClaimedMessage],
        before: Sequence[Row],
        expect: Callable[[Row], Row],
    ) -> None:
        tokens: Mapping[int, str] = {one.id: one.claim_token for one in claimed}
        after = {row.id: row for row in self.outbox.rows()}
        for row in before:
            is_mine = row.belongs_to(tokens.get(row.id))
            expected = expect(row) if is_mine else row
            if not _is_as_expected(after.get(row.id), expected, self.clock.now(), is_mine=is_mine):
                owner = "its owner" if is_mine else "somebody who does not own it"
                self.history.breaks(
                    f"{verb} by {owner} made {row} {after.get(row.id)} instead of {expected}"
                )
        self.history.observe(after.values())


def _failed_once_more(row: Row, failed: FailedTry) -> Row:
    return attrs.evolve(
        row,
        claim_token=None,
        attempts=row.attempts + failed.counted,
        failures=row.failures + 1,
    )


def _is_as_expected(row: Row | None, expected: Row, now: dt.datetime, *, is_mine: bool) -> bool:
    if row is None:
        return False
    same = attrs.evolve(row, due_at=expected.due_at, sent_at=expected.sent_at) == expected
    if not same or not expected.is_open:
        return same
    if expected.is_free and not is_mine:
        return True  # it may have been parked behind a dead letter
    # What is given back is due at once: as old as it is, it may take its old place.
    is_late = row.due_at > expected.due_at + _ROUNDING
    is_early = row.due_at < expected.due_at - _ROUNDING and expected.due_at > now
    return not is_late and not is_early
