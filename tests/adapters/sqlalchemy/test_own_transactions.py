"""The store's own transactions are repeated after a conflict, and only then."""

from pathlib import Path

import pymysql
import pytest
import sqlalchemy as sa
from psycopg import errors as psycopg_errors
from sqlalchemy import exc

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.own_transactions import OwnTransactions
from tests.databases import outbox_database, sqlite_engine

DEADLOCK = exc.OperationalError("…", {}, pymysql.err.OperationalError(1213, "deadlock"))
SERIALIZATION = exc.OperationalError("…", {}, psycopg_errors.SerializationFailure("conflict"))
READ_ONLY = exc.InternalError("…", {}, psycopg_errors.ReadOnlySqlTransaction("read-only"))
DISK_FULL = exc.OperationalError("…", {}, psycopg_errors.DiskFull("no space"))


class Work:
    """Inserts a row each time, and fails so many times first."""

    def __init__(self, table: sa.Table, error: Exception, failures: int) -> None:
        self.table = table
        self.error = error
        self.failures = failures
        self.calls = 0

    def __call__(self, connection: sa.Connection) -> int:
        self.calls += 1
        connection.exec_driver_sql("INSERT INTO tries VALUES (1)")
        if self.calls <= self.failures:
            raise self.error
        return self.calls


def _run(tmp_path: Path, error: Exception, failures: int) -> tuple[Work, int | None, int]:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        engine = database.engine
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE tries (n)")
        work = Work(database.table, error, failures)
        own = OwnTransactions(
            engine, outbox_dialect(database.table, engine.dialect), database.table
        )
        result = None
        try:
            result = own.write(work)
        except OutboxStoreError as failure:
            assert failure.__cause__ is error  # noqa: PT017  # the count of rows matters, too
        with engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT count(*) FROM tries").scalar_one()
        return work, result, rows


@pytest.mark.parametrize("error", [DEADLOCK, SERIALIZATION, READ_ONLY])
def test_a_conflict_is_tried_again_from_the_beginning(tmp_path: Path, error: Exception) -> None:
    work, result, rows = _run(tmp_path, error, failures=3)

    assert (work.calls, result, rows) == (4, 4, 1)


def test_conflicts_without_end_come_out(tmp_path: Path) -> None:
    work, result, rows = _run(tmp_path, DEADLOCK, failures=1000)

    assert (work.calls, result, rows) == (8, None, 0)


def test_any_other_error_comes_out_at_once(tmp_path: Path) -> None:
    work, result, rows = _run(tmp_path, DISK_FULL, failures=1)

    assert (work.calls, result, rows) == (1, None, 0)
