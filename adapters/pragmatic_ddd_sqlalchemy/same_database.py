"""Whether a session and the outbox are in one database, and in a transaction that deserves it."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import is_safe

_FAMILY = {"mariadb": "mysql"}


def refuse_other_database(engine: sa.Engine, of_store: sa.Engine) -> None:
    """Raise where an engine that is written to does not lead to the outbox that is read and sent.

    An async session has an engine of its own, so backend and database are compared; hosts are
    not, because a proxy may be in between.

    Raises:
        UnitOfWorkError: They are two databases, or it is a SQLite engine whose savepoints commit.
    """
    # What Engine.execution_options() returns is the same engine, without its listeners.
    if not is_safe(getattr(engine, "_proxied", engine)):
        raise UnitOfWorkError(
            f"{engine.url!r} would begin transactions too late: call make_sqlite_safe(engine) "
            f"first, for an AsyncEngine with its sync_engine"
        )
    if engine.pool is not of_store.pool and _address(engine.url) != _address(of_store.url):
        raise UnitOfWorkError(
            f"events are written to {engine.url!r}, and the outbox is read from "
            f"{of_store.url!r}: no event would ever be sent"
        )


def commits_each_statement(connection: sa.Connection) -> bool:
    """Say whether a connection is in AUTOCOMMIT, where nothing is atomic."""
    level = connection.get_execution_options().get("isolation_level")
    if level is None:
        # Set by create_engine(isolation_level=…); SQLAlchemy has no public name for it.
        level = getattr(connection.dialect, "_on_connect_isolation_level", None)
    return level == "AUTOCOMMIT" or _driver_commits(connection)


def _driver_commits(connection: sa.Connection) -> bool:
    """Say whether the driver commits by itself: ``connect_args={"autocommit": True}``."""
    if connection.dialect.name == "sqlite":
        return False  # what it is told for engines that begin their transactions themselves
    driver_connection: Any = connection.connection.dbapi_connection
    ask = getattr(driver_connection, "get_autocommit", None)  # where the other is its setter
    said = ask() if callable(ask) else getattr(driver_connection, "autocommit", False)
    return said is True


def _address(url: sa.URL) -> tuple[str, object]:
    backend = url.get_backend_name()
    if backend != "sqlite":
        return _FAMILY.get(backend, backend), url.database
    if not url.database or ":memory:" in url.database:
        return backend, object()  # each engine has a database of its own
    return backend, Path(url.database).resolve()
