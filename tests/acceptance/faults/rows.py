"""The rows of a run's outbox, as the one who judges and the operator see them."""

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.acceptance.faults.stage import Stage, seconds_of

_UNSENT = ("PENDING", "PROCESSING")


@attrs.frozen
class UnsentRow:
    """A row that waits.

    Attributes:
        message_id: Of the event.
        aggregate_id: Whose event it is.
        due_at: When its owner's time is over, or it is due, in seconds of the wall clock.
        is_owned: Whether somebody owns it.
    """

    message_id: str
    aggregate_id: str
    due_at: float
    is_owned: bool


@attrs.define(eq=False)
class Rows:
    """Reads them, and acts as the operator. Keeps no connection open.

    Attributes:
        engine: One that does not pool.
        outbox: The table.
        replayed_at: When dead letters were replayed last, by aggregate, in seconds of the wall
            clock.
    """

    engine: sa.Engine
    outbox: sa.Table
    replayed_at: dict[str, float] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, stage: Stage) -> Self:
        return cls(stage.judges_engine(), stage.tables()[1])

    def unsent(self) -> list[UnsentRow]:
        """Return the rows that wait, in the order of their aggregates' histories."""
        outbox = self.outbox.c
        query = (
            sa.select(outbox.message_id, outbox.aggregate_id, outbox.due_at, outbox.claim_token)
            .where(outbox.status.in_(_UNSENT))
            .order_by(outbox.id)
        )
        with self.engine.connect() as connection:
            return [
                UnsentRow(message_id, aggregate_id, seconds_of(due_at), token is not None)
                for message_id, aggregate_id, due_at, token in connection.execute(query)
            ]

    def all_are_sent(self) -> bool:
        """Say whether nothing is left to send; as the operator, replay what is FAILED."""
        outbox = self.outbox.c
        query = sa.select(outbox.status, outbox.message_id, outbox.aggregate_id).where(
            outbox.status != "SENT"
        )
        with self.engine.connect() as connection:
            left = connection.execute(query).all()
        failed = {row.message_id: row.aggregate_id for row in left if row.status == "FAILED"}
        if failed:
            SqlAlchemyOutboxStore(self.engine, self.outbox).replay(list(failed))
            self.replayed_at.update(dict.fromkeys(failed.values(), time.time()))
        return not left

    def may_be_written(self) -> bool:
        """Say whether nobody keeps an unsent row locked, or on SQLite the whole file."""
        if self.engine.dialect.name == "sqlite":
            return self._file_may_be_written()
        patience = {
            "postgresql": "SET LOCAL lock_timeout = '1s'",
            "mysql": "SET innodb_lock_wait_timeout = 1",
        }
        outbox = self.outbox.c
        rows = sa.select(outbox.id).where(outbox.status.in_(_UNSENT)).with_for_update()
        try:
            with self.engine.connect() as connection:
                connection.exec_driver_sql(patience[connection.dialect.name])
                connection.execute(rows)
        except OperationalError:
            return False
        return True

    def states(self, message_ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return everything that a settling could change, by message."""
        outbox = self.outbox.c
        changeable = (
            *(outbox.status, outbox.attempts, outbox.failures, outbox.due_at),
            *(outbox.claim_token, outbox.last_error, outbox.sent_at, outbox.receipt),
        )
        query = sa.select(outbox.message_id, *changeable).where(outbox.message_id.in_(message_ids))
        with self.engine.connect() as connection:
            return {row[0]: tuple(row[1:]) for row in connection.execute(query)}

    def _file_may_be_written(self) -> bool:
        file = str(self.engine.url.database)
        with contextlib.closing(sqlite3.connect(file, timeout=0.3, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
        return True
