"""The outbox in memory: the same state machine and order rules as on a database."""

import datetime as dt
import itertools
import secrets
import time
from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.arguments import (
    check_count,
    check_type,
    check_words,
    checked_ids,
    implements,
    of_type,
)
from pragmatic_ddd.application.clock import SystemClock
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import (
    Backlog,
    ClaimedMessage,
    Delivered,
    FailedTry,
    IClock,
    OutboxEntry,
    OutboxMessage,
    OutboxStatus,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd_local.outbox_dead_letters import dead_letters, replay, skip
from pragmatic_ddd_local.outbox_row import OutboxRow, storable
from pragmatic_ddd_local.outbox_rows import OutboxRows, StagedRows
from pragmatic_ddd_local.outbox_tidying import LONGEST_PARKING, bring_back, park
from pragmatic_ddd_local.transactions import InMemoryTransactionOperations

_LONGEST_RECEIPT = 500


@attrs.define(eq=False)
class InMemoryOutboxStore:
    """Keeps messages as long as the process lives: for tests and first steps.

    Attributes:
        clock: The store's clock.
        transactions: What ``store`` takes part in.
        monotonic: The clock of deadlines, in seconds.
    """

    clock: IClock = attrs.field(factory=SystemClock, validator=implements(IClock))
    transactions: InMemoryTransactionOperations = attrs.field(
        factory=InMemoryTransactionOperations, validator=of_type(InMemoryTransactionOperations)
    )
    monotonic: Callable[[], float] = attrs.field(default=time.monotonic, kw_only=True)
    _rows: OutboxRows = attrs.field(factory=OutboxRows, init=False, repr=False)
    _ids: "itertools.count[int]" = attrs.field(factory=lambda: itertools.count(1), init=False)
    _horizon: dt.timedelta = attrs.field(default=LONGEST_PARKING, init=False)

    def store(
        self, messages: Sequence[OutboxMessage], *, reservation: Reservation | None = None
    ) -> list[StoredMessage]:
        if not messages:
            return []
        return self.transactions.execute(lambda: self._store(messages, reservation))

    @property
    def settles_beside_claims(self) -> bool:
        return False  # there is one lock

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        check_count("batch_size", batch_size)
        with self.transactions.lock:
            due = self._rows.due(self.clock.now())
            taken = self._rows.takeable(due, batch_size, confirmed_token)
            return self._give(taken, lease)

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        with self.transactions.lock:
            found = [self._rows.find(row_id) for row_id in sorted(set(ids))]
            free = [row for row in found if row is not None and row.is_free]
            return self._give(self._rows.takeable(free, max(1, len(free))), lease)

    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        with self.transactions.lock:
            found = [self._rows.find(row_id) for row_id in set(ids)]
            return {row.id for row in found if row is not None and row.is_free}

    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        with self.transactions.lock:
            return sum(self._mark_sent(each) for each in delivered)

    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        with self.transactions.lock:
            owned = [row for each in claimed if (row := self._owned(each)) is not None]
            for row in owned:
                row.give_back(self.clock.now())
            return len(owned)

    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        with self.transactions.lock:
            return sum(self._fail(each, OutboxStatus.PENDING) for each in failed)

    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        with self.transactions.lock:
            return sum(self._fail(each, OutboxStatus.FAILED) for each in failed)

    def tidy(self) -> int:
        with self.transactions.lock:
            now = self.clock.now()
            return bring_back(self._rows, now, self._horizon) + park(self._rows, now)

    def next_due_in(self) -> dt.timedelta | None:
        with self.transactions.lock:
            now = self.clock.now()
            waits = [
                row.due_at - now for row in self._rows.unsent() if row.is_open and row.due_at > now
            ]
            return min(waits, default=None)

    def backlog(self) -> Backlog:
        with self.transactions.lock:
            return self._rows.backlog(self.clock.now())

    def list_failed(self, *, limit: int = 100, after_id: int = 0) -> list[OutboxEntry]:
        check_count("limit", limit)
        check_type("after_id", after_id, int)
        with self.transactions.lock:
            return [row.entry() for row in dead_letters(self._rows, after_id=after_id)[:limit]]

    def find(self, message_id: str) -> OutboxEntry | None:
        check_type("message_id", message_id, str)
        with self.transactions.lock:
            row = self._rows.find_message(message_id)
            return None if row is None else row.entry()

    def messages(self) -> list[OutboxMessage]:
        """Return every committed message that is not yet purged, in order; for tests."""
        with self.transactions.lock:
            return [row.message for row in sorted(self._rows, key=lambda row: row.id)]

    def replay(self, message_ids: Sequence[str], *, out_of_order: bool = False) -> int:
        ids = checked_ids("message_ids", message_ids)
        with self.transactions.lock:
            return replay(self._rows, ids, self.clock.now(), also_skipped=out_of_order)

    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        ids = checked_ids("message_ids", message_ids)
        check_words("by", by)
        check_words("reason", reason)
        with self.transactions.lock:
            return skip(self._rows, ids, self.clock.now(), by=by, reason=reason)

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        check_type("older_than", older_than, dt.timedelta)
        check_count("batch_size", batch_size)
        with self.transactions.lock:
            last = self.clock.now() - older_than
            ended = [row for row in self._rows if row.sent_at is not None and row.sent_at <= last]
            for row in ended[:batch_size]:
                self._rows.remove(row)
            return len(ended[:batch_size])

    def _store(
        self, messages: Sequence[OutboxMessage], reservation: Reservation | None
    ) -> list[StoredMessage]:
        transaction = self.transactions.current
        assert transaction is not None  # noqa: S101  # execute() has opened one
        begun = self.monotonic()
        with self.transactions.lock:
            self._check_new(messages)
            staged = transaction.staged_for(self, lambda: StagedRows(self._rows))
            return [self._insert(each, reservation, staged, begun) for each in messages]

    def _check_new(self, messages: Sequence[OutboxMessage]) -> None:
        seen = {row.message.message_id for row in self._uncommitted()}
        for message in messages:
            if message.message_id in seen or self._rows.find_message(message.message_id):
                raise OutboxStoreError(f"message {message.message_id} is stored already")
            seen.add(message.message_id)

    def _insert(
        self,
        message: OutboxMessage,
        reservation: Reservation | None,
        staged: StagedRows,
        begun: float,
    ) -> StoredMessage:
        now = self.clock.now()
        row = OutboxRow(id=next(self._ids), message=message, created_at=now, due_at=now)
        claim = None
        if reservation is not None and self._may_be_born_owned(message, reservation):
            row.own(reservation.claim_token, now, reservation.grace)
            self._horizon = max(self._horizon, reservation.grace)
            claim = row.claimed(begun + reservation.grace.total_seconds())
        staged.rows.append(row)
        return StoredMessage(id=row.id, message=message, claim=claim)

    def _may_be_born_owned(self, message: OutboxMessage, reservation: Reservation) -> bool:
        older = [*self._rows.unsent_of(message.aggregate)]
        older += [row for row in self._uncommitted() if row.message.aggregate == message.aggregate]
        return message.aggregate_version is not None and all(
            row.claim_token == reservation.claim_token for row in older
        )

    def _uncommitted(self) -> list[OutboxRow]:
        current = self.transactions.current
        transactions = self.transactions.others() + ([] if current is None else [current])
        staged = [transaction.peek(self) for transaction in transactions]
        return [row for each in staged if isinstance(each, StagedRows) for row in each.rows]

    def _give(self, rows: Sequence[OutboxRow], lease: dt.timedelta) -> list[ClaimedMessage]:
        token = secrets.token_hex(16)
        deadline = self.monotonic() + lease.total_seconds()
        now = self.clock.now()
        self._horizon = max(self._horizon, lease)
        claims = []
        for row in rows:
            was_owned = row.claim_token is not None
            row.give(token, now, lease)
            claims.append(row.claimed(deadline, taken_over=was_owned))
        return claims

    def _owned(self, claimed: ClaimedMessage) -> OutboxRow | None:
        row = self._rows.find(claimed.id)
        return row if row is not None and row.belongs_to(claimed.claim_token) else None

    def _mark_sent(self, delivered: Delivered) -> bool:
        row = self._rows.find(delivered.claimed.id)
        if row is None or row.claim_token != delivered.claimed.claim_token:
            return False
        if row.is_open:
            row.status = OutboxStatus.SENT
            row.sent_at = self.clock.now()
            row.receipt = storable(delivered.receipt)[:_LONGEST_RECEIPT]
            self._rows.changed(row)
        return row.status is OutboxStatus.SENT

    def _fail(self, failed: FailedTry, status: OutboxStatus) -> bool:
        row = self._owned(failed.claimed)
        if row is None:
            return False
        row.note_failure(failed.error, counted=failed.counted)
        row.give_back(self.clock.now() + failed.retry_in)
        row.status = status
        self._horizon = max(self._horizon, failed.retry_in)
        return True
