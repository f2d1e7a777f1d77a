"""Time that a test lets pass: for the rows of a database and for its process, by the same step."""

import datetime as dt
import time
from collections.abc import Sequence

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.databases import OutboxDatabase


@attrs.define(eq=False)
class VirtualTime:
    """The time of a test, which is real time and what it has let pass."""

    database: OutboxDatabase
    passed: float = attrs.field(default=0.0, init=False)

    def monotonic(self) -> float:
        return time.monotonic() + self.passed

    def pass_time(self, duration: dt.timedelta) -> None:
        self.pass_in_process(duration)
        self.database.pass_time(duration)

    def pass_in_process(self, duration: dt.timedelta) -> None:
        self.passed += duration.total_seconds()

    def store(self) -> "StoreInVirtualTime":
        return StoreInVirtualTime(self.database.engine, self.database.table, time=self)


@attrs.define(eq=False)
class StoreInVirtualTime(SqlAlchemyOutboxStore):
    """The real store, whose deadlines are read from the test's clock, as the relay's are."""

    time: VirtualTime = attrs.field(kw_only=True)

    def store_in(
        self,
        connection: sa.Connection,
        messages: Sequence[OutboxMessage],
        reservation: Reservation | None = None,
    ) -> list[StoredMessage]:
        return [
            one if one.claim is None else attrs.evolve(one, claim=self._shifted(one.claim))
            for one in super().store_in(connection, messages, reservation)
        ]

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        claimed = super().claim_pending(
            batch_size=batch_size, lease=lease, confirmed_token=confirmed_token
        )
        return [self._shifted(one) for one in claimed]

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        claimed = super().claim(ids, lease=lease)
        return [self._shifted(one) for one in claimed]

    def _shifted(self, claimed: ClaimedMessage) -> ClaimedMessage:
        return attrs.evolve(claimed, deadline=claimed.deadline + self.time.passed)
