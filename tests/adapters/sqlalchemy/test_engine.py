"""SQLite made safe, and engines that are refused."""

import datetime as dt
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_sqlalchemy.engine import (
    READ_ONLY,
    create_memory_engine,
    create_sqlite_engine,
    make_sqlite_safe,
    read_only,
    reads_only,
    refuse_unsafe,
)
from pragmatic_ddd_sqlalchemy.schema import validate_schema
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import metadata
from pragmatic_ddd_sqlalchemy.transactions import SqlAlchemyTransactionOperations

INSERT = "INSERT INTO notes (text) VALUES ('x')"
COUNT = "SELECT count(*) FROM notes"
_AUTOCOMMIT = {"isolation_level": "AUTOCOMMIT"}


@pytest.fixture
def engine(tmp_path: Path) -> sa.Engine:
    engine = create_sqlite_engine(tmp_path / "a.db", busy_timeout=dt.timedelta(seconds=10))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (text)")
    return engine


def _count(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        return int(connection.exec_driver_sql(COUNT).scalar_one())


def test_a_savepoint_goes_with_the_outer_rollback(engine: sa.Engine, tmp_path: Path) -> None:
    with Session(engine) as session:
        with session.begin_nested():
            session.execute(sa.text(INSERT))
        session.rollback()

    assert _count(sa.create_engine(f"sqlite:///{tmp_path}/a.db")) == 0


def test_a_writer_that_has_read_first_waits_for_its_turn(engine: sa.Engine) -> None:
    errors: list[Exception] = []

    def write() -> None:
        try:
            for _ in range(10):
                with engine.begin() as connection:
                    connection.exec_driver_sql(COUNT)
                    time.sleep(0.001)
                    connection.exec_driver_sql(INSERT)
        except Exception as error:  # noqa: BLE001  # whatever it is, the test shows it
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert _count(engine) == 40


def test_a_session_that_only_reads_keeps_no_writer_out(engine: sa.Engine) -> None:
    with Session(read_only(engine)) as session:
        assert session.execute(sa.text(COUNT)).scalar() == 0
        with engine.begin() as connection:
            connection.exec_driver_sql(INSERT)

        assert session.execute(sa.text(COUNT)).scalar() == 0


def test_a_connection_that_only_reads_waits_for_no_writer(engine: sa.Engine) -> None:
    with engine.begin() as writing:
        writing.exec_driver_sql(INSERT)

        assert _count(read_only(engine)) == 0

    assert _count(read_only(engine)) == 1


def test_reading_only_changes_neither_the_engine_nor_its_pool(engine: sa.Engine) -> None:
    reading = read_only(engine)

    assert reading.pool is engine.pool
    with engine.connect() as connection:
        assert not reads_only(connection)


def test_sessions_of_an_async_engine_may_only_read_too() -> None:
    reading = read_only(create_async_engine("sqlite+aiosqlite://"))

    assert isinstance(reading, AsyncEngine)
    assert reading.get_execution_options() == READ_ONLY


@pytest.mark.parametrize("kind", [SqlAlchemyOutboxStore, SqlAlchemyTransactionOperations])
def test_an_engine_that_only_reads_carries_no_outbox(kind: type, engine: sa.Engine) -> None:
    with pytest.raises(ConfigurationError, match=r"give the engine without read_only\(\)"):
        kind(read_only(engine))


def test_nothing_that_was_committed_is_lost_with_the_power(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000


def test_an_engine_of_yours_is_made_safe_once(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/a.db")
    with engine.connect():
        pass

    assert make_sqlite_safe(engine) is engine
    assert make_sqlite_safe(engine) is engine

    with engine.begin() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    refuse_unsafe(engine)


def test_who_connects_in_a_way_of_their_own_is_still_asked(tmp_path: Path) -> None:
    engine = create_sqlite_engine(tmp_path / "a.db")
    asked: list[str] = []

    def look_on(_: sa.Dialect, __: object, arguments: list[str], ___: object) -> None:
        asked.append(arguments[0])

    def connect(_: sa.Dialect, __: object, arguments: list[str], ___: object) -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "b.db", check_same_thread=False)

    sa.event.listen(engine, "do_connect", look_on)
    sa.event.listen(engine, "do_connect", connect)

    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA database_list").one()[2].endswith("b.db")
    assert asked == [str(tmp_path / "a.db")]


def test_another_database_needs_no_help() -> None:
    engine = sa.create_engine("postgresql+psycopg://")

    assert make_sqlite_safe(engine) is engine
    refuse_unsafe(engine)


@pytest.mark.parametrize("kind", [SqlAlchemyOutboxStore, SqlAlchemyTransactionOperations])
def test_a_sqlite_engine_that_is_not_safe_is_refused(kind: type, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="make_sqlite_safe"):
        kind(sa.create_engine(f"sqlite:///{tmp_path}/a.db"))


@pytest.mark.parametrize("kind", [SqlAlchemyOutboxStore, SqlAlchemyTransactionOperations])
@pytest.mark.parametrize("is_option", [True, False])
def test_an_engine_without_transactions_is_refused(kind: type, *, is_option: bool) -> None:
    url = "postgresql+psycopg://"
    engine = sa.create_engine(url, **({} if is_option else _AUTOCOMMIT))
    if is_option:
        engine = engine.execution_options(**_AUTOCOMMIT)

    with pytest.raises(ConfigurationError, match="AUTOCOMMIT"):
        kind(engine)


@pytest.mark.parametrize("kind", [SqlAlchemyOutboxStore, SqlAlchemyTransactionOperations])
def test_an_async_engine_is_refused_with_the_fix(kind: type) -> None:
    asyncio = pytest.importorskip("sqlalchemy.ext.asyncio")
    engine = asyncio.create_async_engine("postgresql+psycopg_async://")

    for each in (engine, engine.sync_engine):
        with pytest.raises(ConfigurationError, match=r"needs a sync engine.*create_engine\("):
            kind(each)


@pytest.mark.parametrize("name", [":memory:", "", "file:x?mode=memory&uri=true"])
def test_a_database_in_memory_is_not_taken_for_a_file(name: str) -> None:
    with pytest.raises(ConfigurationError, match="create_memory_engine"):
        create_sqlite_engine(name)


def test_a_database_in_memory_serves_one_thread_and_no_publisher() -> None:
    engine = create_memory_engine()
    metadata.create_all(engine)

    store = SqlAlchemyOutboxStore(engine)
    store.store([a_message("m1")])

    assert store.find("m1") is not None
    with pytest.raises(ConfigurationError, match="in memory"):
        refuse_unsafe(engine)


def test_one_connection_for_all_threads_is_refused() -> None:
    engine = sa.create_engine("postgresql+psycopg://", poolclass=StaticPool)

    with pytest.raises(ConfigurationError, match="StaticPool"):
        refuse_unsafe(engine)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_a_transaction_that_was_interrupted_leaves_no_lock(
    engine: sa.Engine, interrupt: type[BaseException]
) -> None:
    def interrupt_the_insert(*given: object) -> None:
        if str(given[2]).startswith(INSERT):
            raise interrupt

    sa.event.listen(engine, "after_cursor_execute", interrupt_the_insert)
    with pytest.raises(interrupt) as raised, engine.begin() as connection:
        connection.exec_driver_sql(f"{INSERT}, ('y'), ('z') RETURNING text")

    # Its traceback refers to the statement, of which a row is yet to be fetched.
    assert raised.tb is not None
    other = sqlite3.connect(str(engine.url.database), timeout=0)
    other.execute("BEGIN IMMEDIATE")
    assert other.execute(COUNT).fetchall() == [(0,)]
    other.close()


def test_a_url_is_not_taken_for_a_path() -> None:
    with pytest.raises(ConfigurationError, match="give the path"):
        create_sqlite_engine("sqlite:///shop.db")


@pytest.mark.parametrize("url", ["postgresql+psycopg://", "sqlite+aiosqlite://"])
@pytest.mark.parametrize("use", [SqlAlchemyOutboxStore, validate_schema])
def test_an_async_engine_is_refused_with_the_way_out(use: Callable[..., object], url: str) -> None:
    engine = create_async_engine(url)

    for given in (engine, engine.sync_engine):
        with pytest.raises(ConfigurationError, match=r"is async: .* an engine of their own"):
            use(given)


def test_the_sync_engine_of_an_async_one_is_made_safe() -> None:
    make: Callable[..., object] = make_sqlite_safe
    engine = create_async_engine("sqlite+aiosqlite://")

    with pytest.raises(TypeError, match=r"is no sqlalchemy\.Engine: pass its sync_engine"):
        make(engine)

    assert make(engine.sync_engine) is engine.sync_engine


@pytest.mark.parametrize(
    "use", [SqlAlchemyOutboxStore, validate_schema, make_sqlite_safe, read_only]
)
@pytest.mark.parametrize("given", [None, "sqlite:///shop.db"])
def test_what_is_no_engine_is_named(use: Callable[..., object], given: object) -> None:
    with pytest.raises(TypeError, match=f"{given!r} is no sqlalchemy.Engine"):
        use(given)
