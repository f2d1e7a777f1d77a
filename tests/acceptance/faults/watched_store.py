"""The outbox store of the runs: the product's own, with failpoints around every step it takes.

    <verb>.before ──▶ statements (claim.locked between two) ──▶ <verb>.uncommitted
                              COMMIT ──▶ <verb>.committed ──▶ <verb>.after

Verbs: ``insert``, ``claim``, ``mark``, ``release``, ``retry``, ``dead``, ``replay``, ``skip``,
``tidy``, ``purge``. A transaction of the application passes ``commit.uncommitted`` and
``commit.committed``; the insert is part of it.
"""

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import (
    Backlog,
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.acceptance.faults.diary import Diary
from tests.acceptance.faults.failpoints import Failpoints

_OF_THE_APPLICATION = "commit"


@attrs.define(eq=False)
class WatchedStore(SqlAlchemyOutboxStore):
    """Notes every claim in the diary before its holder learns of it.

    Attributes:
        failpoints: Of this process.
        diary: Of the run.
    """

    failpoints: Failpoints = attrs.field(kw_only=True)
    diary: Diary = attrs.field(kw_only=True)
    _now: threading.local = attrs.field(factory=threading.local, init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        dialect = self.engine.dialect
        do_commit = dialect.do_commit

        def watched_commit(connection: Any) -> None:  # noqa: ANN401  # the driver's
            verb = getattr(self._now, "verb", _OF_THE_APPLICATION)
            self.failpoints.fire(f"{verb}.uncommitted")
            do_commit(connection)
            self.failpoints.fire(f"{verb}.committed")

        dialect.do_commit = watched_commit  # type: ignore[method-assign,assignment]
        sa.event.listen(self.engine, "before_cursor_execute", self._before_statement)

    def store_in(
        self,
        connection: sa.Connection,
        messages: Sequence[OutboxMessage],
        reservation: Reservation | None = None,
    ) -> list[StoredMessage]:
        self.failpoints.fire("insert.before")
        stored = super().store_in(connection, messages, reservation)
        self._note([one.claim for one in stored if one.claim is not None])
        self.failpoints.fire("insert.after")
        return stored

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        with self._doing("claim"):
            claimed = super().claim_pending(
                batch_size=batch_size, lease=lease, confirmed_token=confirmed_token
            )
            return self._note(claimed)

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        with self._doing("claim"):
            return self._note(super().claim(ids, lease=lease))

    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        with self._doing("read"):
            return super().unclaimed(ids)

    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        with self._doing("mark"):
            return super().mark_sent(delivered)

    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        with self._doing("release"):
            return super().release(claimed)

    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        with self._doing("retry"):
            return super().retry_later(failed)

    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        with self._doing("dead"):
            return super().mark_failed(failed)

    def tidy(self) -> int:
        with self._doing("tidy"):
            return super().tidy()

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        with self._doing("purge"):
            return super().purge(older_than=older_than, batch_size=batch_size)

    def replay(self, message_ids: Sequence[str], *, out_of_order: bool = False) -> int:
        with self._doing("replay"):
            return super().replay(message_ids, out_of_order=out_of_order)

    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        with self._doing("skip"):
            return super().skip(message_ids, by=by, reason=reason)

    def next_due_in(self) -> dt.timedelta | None:
        with self._doing("read"):
            return super().next_due_in()

    def backlog(self) -> Backlog:
        with self._doing("read"):
            return super().backlog()

    @contextmanager
    def _doing(self, verb: str) -> Iterator[None]:
        self._now.verb, self._now.statements = verb, 0
        try:
            self.failpoints.fire(f"{verb}.before")
            yield
            self.failpoints.fire(f"{verb}.after")
        finally:
            del self._now.verb

    def _note(self, claimed: list[ClaimedMessage]) -> list[ClaimedMessage]:
        if claimed:
            ids = [one.message.message_id for one in claimed]
            self.diary.claimed(ids, min(one.deadline for one in claimed))
        return claimed

    def _before_statement(self, _: object, __: object, statement: str, *___: object) -> None:
        if getattr(self._now, "verb", "") == "claim" and not statement.startswith("BEGIN"):
            self._now.statements += 1
            if self._now.statements == 2:
                self.failpoints.fire("claim.locked")
