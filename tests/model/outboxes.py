"""The stores under the model: in memory, and in a SQLite file whose clock is the model's.

SQLite asks no clock that a test could set, but its time functions can be replaced: ``'now'``
becomes the model's time, and everything else is left to SQLite. So time moves as exactly as in
memory, and a run can be repeated.
"""

import contextlib
import datetime as dt
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from unittest import mock

import attrs
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

import pragmatic_ddd_sqlalchemy.claiming
import pragmatic_ddd_sqlalchemy.storing
from pragmatic_ddd.ports import IOutboxStore, ITransactionOperations, OutboxStatus
from pragmatic_ddd_local import InMemoryOutboxStore
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import metadata, outbox_message
from tests.model.rows import Row
from tests.model.world_clock import WorldClock


class Outbox(Protocol):
    """What the model needs of a store beside its port."""

    @property
    def store(self) -> IOutboxStore: ...

    @property
    def transactions(self) -> ITransactionOperations: ...

    @property
    def writes_concurrently(self) -> bool:
        """Whether transactions may be open side by side."""

    def rows(self) -> list[Row]:
        """Return every committed row, in order."""


@attrs.define(eq=False)
class MemoryOutbox:
    """An outbox in memory."""

    clock: WorldClock
    store: InMemoryOutboxStore = attrs.field(init=False)
    writes_concurrently: bool = attrs.field(default=True, init=False)

    def __attrs_post_init__(self) -> None:
        self.store = InMemoryOutboxStore(self.clock, monotonic=self.clock.monotonic)

    @property
    def transactions(self) -> ITransactionOperations:
        return self.store.transactions

    def rows(self) -> list[Row]:
        return [
            Row(
                id=row.id,
                message_id=row.message.message_id,
                aggregate=row.message.aggregate_id,
                status=row.status,
                attempts=row.attempts,
                failures=row.failures,
                due_at=row.due_at,
                claim_token=row.claim_token,
                receipt=row.receipt,
                sent_at=row.sent_at,
            )
            for row in sorted(self.store._rows, key=lambda row: row.id)
        ]


@attrs.define(eq=False)
class SqliteFile:
    """A database file, used by one run of the model after the other."""

    path: Path
    engine: sa.Engine = attrs.field(init=False)
    clock: WorldClock = attrs.field(factory=WorldClock, init=False)
    _looking: sqlite3.Connection = attrs.field(init=False)
    _calendar: sqlite3.Connection = attrs.field(init=False)
    _seen: list[Row] = attrs.field(factory=list, init=False)
    _seen_version: int | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._calendar = sqlite3.connect(":memory:", check_same_thread=False)
        self.engine = create_sqlite_engine(self.path)
        sa.event.listen(self.engine, "connect", self._prepare)
        metadata.create_all(self.engine)
        self._looking = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._looking.execute("PRAGMA busy_timeout = 10000")

    def begin(self, clock: WorldClock) -> None:
        """Empty the table, ids included, and go by another clock."""
        self.clock = clock
        self._looking.execute(f"DELETE FROM {outbox_message.name}")
        self._looking.execute("DELETE FROM sqlite_sequence")
        self._seen_version = None

    def rows(self) -> list[Row]:
        # The version changes when another connection has written.
        (version,) = self._looking.execute("PRAGMA data_version").fetchone()
        if version != self._seen_version:
            self._seen_version, self._seen = version, self._read()
        return self._seen

    def _read(self) -> list[Row]:
        columns = (
            "id, message_id, aggregate_id, status, attempts, failures, due_at, claim_token, "
            "receipt, sent_at"
        )
        found = self._looking.execute(f"SELECT {columns} FROM {outbox_message.name} ORDER BY id")
        return [
            Row(
                id=row[0],
                message_id=row[1],
                aggregate=row[2],
                status=OutboxStatus(row[3]),
                attempts=row[4],
                failures=row[5],
                due_at=_instant(row[6]),
                claim_token=row[7],
                receipt=row[8],
                sent_at=None if row[9] is None else _instant(row[9]),
            )
            for row in found.fetchall()
        ]

    def monotonic(self) -> float:
        """Stand in for the module ``time``."""
        return self.clock.monotonic()

    def close(self) -> None:
        self._looking.close()
        self._calendar.close()
        self.engine.dispose()

    def _prepare(self, connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        assert isinstance(connection, sqlite3.Connection)
        for name in ("strftime", "julianday"):
            connection.create_function(name, -1, self._telling(name))
        connection.execute("PRAGMA synchronous = OFF")  # processes die here, machines do not

    def _telling(self, name: str) -> Callable[..., str | float | None]:
        def tell(*arguments: object) -> str | float | None:
            now = self.clock.now().replace(tzinfo=None).isoformat(" ", "milliseconds")
            given = [now if one == "now" else one for one in arguments]
            marks = ", ".join("?" * len(given))
            told: tuple[str | float | None]
            told = self._calendar.execute(f"SELECT {name}({marks})", given).fetchone()
            return told[0]

        return tell


@attrs.define(eq=False)
class SqliteOutbox:
    """An outbox in a SQLite file."""

    file: SqliteFile
    store: SqlAlchemyOutboxStore = attrs.field(init=False)
    writes_concurrently: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.store = SqlAlchemyOutboxStore(self.file.engine)

    @property
    def transactions(self) -> ITransactionOperations:
        return self.store.transactions

    def rows(self) -> list[Row]:
        return self.file.rows()


@contextlib.contextmanager
def leases_measured_by(file: SqliteFile) -> Iterator[None]:
    """Let the SQLAlchemy store take its deadlines from the model's monotonic clock."""
    with contextlib.ExitStack() as stack:
        for module in (pragmatic_ddd_sqlalchemy.claiming, pragmatic_ddd_sqlalchemy.storing):
            stack.enter_context(mock.patch.object(module, "time", file))
        yield


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
