"""Transactions over an engine, one for each thread."""

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxStoreError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.transactions import SqlAlchemyTransactionOperations

INSERT = sa.text("INSERT INTO notes (text) VALUES ('x')")


class WorkError(Exception):
    """The work has failed."""


@pytest.fixture
def transactions(tmp_path: Path) -> SqlAlchemyTransactionOperations:
    engine = create_sqlite_engine(tmp_path / "a.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (text)")
    return SqlAlchemyTransactionOperations(engine)


def _count(transactions: SqlAlchemyTransactionOperations) -> int:
    with transactions.engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM notes").scalar_one())


def test_work_is_committed_and_its_result_returned(
    transactions: SqlAlchemyTransactionOperations,
) -> None:
    assert transactions.execute(lambda: transactions.connection.execute(INSERT).rowcount) == 1
    assert _count(transactions) == 1


def test_inner_work_joins_the_outer_transaction(
    transactions: SqlAlchemyTransactionOperations,
) -> None:
    def inner() -> sa.Connection:
        transactions.connection.execute(INSERT)
        return transactions.connection

    def outer() -> None:
        connection = transactions.connection
        assert transactions.execute(inner) is connection
        raise WorkError

    with pytest.raises(WorkError):
        transactions.execute(outer)

    assert _count(transactions) == 0


def test_an_inner_failure_leaves_only_the_rollback(
    transactions: SqlAlchemyTransactionOperations,
) -> None:
    def inner() -> None:
        raise WorkError

    def outer() -> None:
        transactions.connection.execute(INSERT)
        with pytest.raises(WorkError):
            transactions.execute(inner)

    with pytest.raises(UnitOfWorkError, match="rolled back"):
        transactions.execute(outer)

    assert _count(transactions) == 0
    transactions.execute(lambda: transactions.connection.execute(INSERT))
    assert _count(transactions) == 1


def test_there_is_no_connection_outside(transactions: SqlAlchemyTransactionOperations) -> None:
    assert not transactions.is_active
    assert transactions.execute(lambda: transactions.is_active)
    with pytest.raises(UnitOfWorkError, match="inside execute"):
        _ = transactions.connection


def test_each_thread_has_its_own(transactions: SqlAlchemyTransactionOperations) -> None:
    seen: list[bool] = []

    def look_from_another_thread() -> None:
        thread = threading.Thread(target=lambda: seen.append(transactions.is_active))
        thread.start()
        thread.join()

    transactions.execute(look_from_another_thread)

    assert seen == [False]


def test_every_connection_goes_back(transactions: SqlAlchemyTransactionOperations) -> None:
    def fail() -> None:
        raise WorkError

    for _ in range(20):
        with pytest.raises(WorkError):
            transactions.execute(fail)

    pool = transactions.engine.pool
    assert isinstance(pool, sa.QueuePool)
    assert pool.checkedout() == 0


def test_a_rollback_that_fails_hides_nothing_and_pools_no_broken_connection(
    transactions: SqlAlchemyTransactionOperations,
) -> None:
    def refuse(_: object) -> None:
        raise sa.exc.OperationalError("ROLLBACK", None, ConnectionResetError())

    def fail() -> None:
        transactions.connection.execute(INSERT)
        sa.event.listen(transactions.engine, "rollback", refuse, once=True)
        raise WorkError

    with pytest.raises(WorkError):
        transactions.execute(fail)

    assert _count(transactions) == 0
    assert not transactions.is_active


def test_a_database_that_is_away_is_a_store_error() -> None:
    engine = sa.create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    transactions = SqlAlchemyTransactionOperations(engine)

    with pytest.raises(OutboxStoreError, match="OperationalError"):
        transactions.execute(lambda: None)
