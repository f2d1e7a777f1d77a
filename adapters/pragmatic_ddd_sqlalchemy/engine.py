"""Engines that are safe for an outbox: SQLite needs help, other databases need none.

Left alone, Python's driver begins transactions late, so that a SAVEPOINT's release commits, and
a transaction that has read first cannot write once somebody else has written. Here every unit
of work begins with BEGIN IMMEDIATE, waits for its turn, and readers in WAL mode wait for
nobody; a session that only reads says so:

    with Session(read_only(engine)) as session: ...
"""

import contextlib
import datetime as dt
import sqlite3
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from pragmatic_ddd.application.arguments import check_type, shown
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_sqlalchemy.column_types.exact_sqlite import ExactSqliteCompiler
from pragmatic_ddd_sqlalchemy.sqlite_fork import SqliteForkGate

_READ_ONLY_OPTION = "sqlite_read_only"
READ_ONLY = {_READ_ONLY_OPTION: True}

_BUSY_TIMEOUT = dt.timedelta(seconds=30)
_CREATED = "give what create_engine() returns"


@runtime_checkable
class _AnyEngine(Protocol):
    """An ``Engine``, or an ``AsyncEngine``, which cannot be imported everywhere."""

    def dispose(self) -> object: ...

    def execution_options(self, **options: object) -> object: ...


E = TypeVar("E", bound=_AnyEngine)


def create_sqlite_engine(
    path: str | Path, *, busy_timeout: dt.timedelta = _BUSY_TIMEOUT, **options: object
) -> sa.Engine:
    """Create an engine for a database file, safe for units of work, outbox and threads.

    Args:
        path: The file; it is created where there is none.
        busy_timeout: How long a writer waits for the one before it.
        **options: Whatever else ``sqlalchemy.create_engine`` takes.

    Raises:
        ConfigurationError: The path names no file but a database in memory, or is a URL.
    """
    if str(path).startswith("sqlite:"):
        raise _refusal(f"{str(path)!r} is a URL: give the path of the file, such as 'shop.db'")
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), **options)
    if is_in_memory(engine):
        raise _refusal(f"{str(path)!r} is a database in memory: ask create_memory_engine()")
    return make_sqlite_safe(engine, busy_timeout=busy_timeout)


def create_memory_engine() -> sa.Engine:
    """Create an engine for one database in memory, for first steps and tests without threads.

    All its users share one connection, and with it one transaction: ``refuse_unsafe`` keeps an
    eager publisher or a relay thread away from it.
    """
    engine = sa.create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    return make_sqlite_safe(engine)


def make_sqlite_safe(engine: sa.Engine, *, busy_timeout: dt.timedelta = _BUSY_TIMEOUT) -> sa.Engine:
    """Prepare an engine of yours before its first use; other databases need no preparation.

    Sets WAL and full synchronisation, and begins transactions itself: IMMEDIATE, or plain on
    connections of ``read_only(engine)``. Foreign keys stay as you have them.
    Has ``ExactDecimalType`` refused in SQL where it stands behind a number of another scale.
    A fork waits until no connection is in use, and closes those in the pool.
    For an ``AsyncEngine``, pass its ``sync_engine``.

    Raises:
        TypeError: It is no ``sqlalchemy.Engine``, or ``busy_timeout`` no duration.
    """
    check_type("busy_timeout", busy_timeout, dt.timedelta)
    if not isinstance(engine, sa.Engine):
        raise _no_engine(engine, "pass its sync_engine")
    if engine.dialect.name != "sqlite" or is_safe(engine):
        return engine
    in_memory = is_in_memory(engine)
    is_connecting = contextlib.nullcontext if in_memory else SqliteForkGate(engine).held_open
    milliseconds = int(busy_timeout / dt.timedelta(milliseconds=1))

    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # The driver begins nothing by itself; what begins is ``_begin``.
        connection.isolation_level = None
        with is_connecting(), contextlib.closing(connection.cursor()) as cursor:
            for pragma in (
                f"busy_timeout = {milliseconds}",
                "journal_mode = WAL",
                "synchronous = FULL",
            ):
                cursor.execute(f"PRAGMA {pragma}")

    if engine.dialect.statement_compiler is SQLiteCompiler:
        engine.dialect.statement_compiler = ExactSqliteCompiler
    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", _begin)
    sa.event.listen(engine, "invalidate", _give_up_locks)
    if not in_memory:
        engine.dispose()
    return engine


def read_only(engine: E) -> E:
    """Return the engine for sessions and connections that only read.

    It is the same engine, with the same pool. On SQLite its transactions begin without the write
    lock, so they wait for no writer, and no writer for them; one that writes after all may fail
    with "database is locked". On other databases nothing is different. Nobody enforces that
    they only read.

    Args:
        engine: An ``Engine`` or an ``AsyncEngine``.

    Raises:
        TypeError: It is no engine.
    """
    if not isinstance(engine, _AnyEngine):
        raise _no_engine(engine, _CREATED)
    return engine.execution_options(**READ_ONLY)  # type: ignore[return-value]  # one again


def reads_only(connection: sa.Connection) -> bool:
    """Say whether a connection was promised to read only."""
    return bool(connection.get_execution_options().get(_READ_ONLY_OPTION, False))


def is_safe(engine: sa.Engine) -> bool:
    """Say whether transactions on this engine begin when they are begun."""
    return engine.dialect.name != "sqlite" or sa.event.contains(engine, "begin", _begin)


def is_in_memory(engine: sa.Engine) -> bool:
    """Say whether an engine's database is SQLite's, and lives in its connection."""
    if engine.dialect.name != "sqlite":
        return False
    name = engine.url.database or ""
    names_memory = "mode=memory" in name or engine.url.query.get("mode") == "memory"
    return not name or ":memory:" in name or names_memory


def refuse_unprepared(engine: sa.Engine) -> None:
    """Raise where an engine cannot carry the outbox.

    Raises:
        ConfigurationError: It is async, in AUTOCOMMIT, for reading only, or a SQLite engine that
            has not been made safe; names the fix.
        TypeError: It is no engine.
    """
    refuse_async(engine)
    if _default_isolation_level(engine) == "AUTOCOMMIT":
        raise _refusal(
            f"{engine.url} commits each statement by itself (AUTOCOMMIT): event and business row "
            "would be two facts; use an engine with transactions"
        )
    if engine.get_execution_options().get(_READ_ONLY_OPTION):
        raise _refusal(
            f"{engine.url} was promised to read only: give the engine without read_only()"
        )
    if not is_safe(engine):
        raise _refusal(
            f"{engine.url} would begin transactions too late: make it with "
            "create_sqlite_engine(path), or call make_sqlite_safe(engine) first"
        )


def refuse_async(engine: sa.Engine) -> None:
    """Raise where an engine cannot be used without an event loop, or is none.

    Raises:
        ConfigurationError: It is async; names the fix.
        TypeError: It is no engine.
    """
    dialect = getattr(engine, "dialect", None)
    if isinstance(dialect, sa.Dialect) and dialect.is_async:
        raise _refusal(
            f"the outbox store needs a sync engine, and {dialect.name}+{dialect.driver} is async: "
            "store through your AsyncSession, and give outbox store, eager publisher, relay and "
            "validate_schema() an engine of their own, such as "
            "create_engine('postgresql+psycopg://...')"
        )
    if not isinstance(engine, sa.Engine):
        raise _no_engine(engine, _CREATED)


def refuse_unsafe(engine: sa.Engine) -> None:
    """Raise where an engine must not be shared with an eager publisher, or any other thread.

    Raises:
        ConfigurationError: Another thread would see another database, or commit what the first
            has not finished.
    """
    refuse_unprepared(engine)
    if is_in_memory(engine):
        raise _refusal(
            f"{engine.url} is a database in memory: another thread would see no table, or "
            "commit a transaction that is not its own; use create_sqlite_engine(path)"
        )
    if isinstance(engine.pool, StaticPool):
        raise _refusal(
            f"{engine.url} has one connection for all threads (StaticPool): another one "
            "would commit a transaction that is not its own; use another pool"
        )


def _no_engine(given: object, advice: str) -> TypeError:
    return TypeError(f"{shown(given)} is no sqlalchemy.Engine: {advice}")


def _refusal(problem: str) -> ConfigurationError:
    return ConfigurationError([problem])


def _default_isolation_level(engine: sa.Engine) -> object:
    given: object = engine.get_execution_options().get("isolation_level")
    return given or getattr(engine.dialect, "_on_connect_isolation_level", None)


def _give_up_locks(connection: DBAPIConnection, *_: object) -> None:
    """Roll back before the connection is closed for Ctrl-C or ``sys.exit()`` in a statement.

    A statement that the exception's traceback still refers to would keep the closed connection
    alive, and with it the lock of the whole file.
    """
    with contextlib.suppress(sqlite3.Error):
        connection.rollback()


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN" if reads_only(connection) else "BEGIN IMMEDIATE")
