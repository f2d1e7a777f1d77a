"""Databases for tests: engines, an outbox table of its own for each of them, and their time."""

import datetime as dt
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import outbox_table
from tests import servers

READ_COMMITTED = "READ COMMITTED"

_TIMES = ("due_at", "claimed_at", "created_at", "sent_at")
_SHIFTED = {
    "postgresql": "{column} - make_interval(secs => CAST(:seconds AS float))",
    "mysql": "{column} - INTERVAL :seconds SECOND",
    "mariadb": "{column} - INTERVAL :seconds SECOND",
    "sqlite": (
        "strftime('%Y-%m-%d %H:%M:%f', {column}, printf('%+.6f seconds', -:seconds)) || '000'"
    ),
}


EVERY_DATABASE = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
    pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
]


@contextmanager
def own_database(name: str, folder: Path) -> Iterator[str]:
    """Make a database of its own, which no other test and no other run uses; give its URL."""
    if name == "sqlite":
        yield f"sqlite:///{folder}/own.db"
        return
    url = sa.make_url(servers.postgresql_url() if name == "postgresql" else servers.mariadb_url())
    own = f"own_{secrets.token_hex(6)}"
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {own}")
        yield url.set(database=own).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {own}")
    admin.dispose()


def postgresql_engine(isolation_level: str | None = None) -> sa.Engine:
    return _engine(servers.postgresql_url(), isolation_level)


def mariadb_engine(
    isolation_level: str | None = READ_COMMITTED, *, dialect: str = "mysql"
) -> sa.Engine:
    url = sa.make_url(servers.mariadb_url())
    return _engine(url.set(drivername=f"{dialect}+pymysql"), isolation_level)


def sqlite_engine(folder: Path) -> sa.Engine:
    return create_sqlite_engine(folder / "outbox.db")


def _engine(url: str | sa.URL, isolation_level: str | None) -> sa.Engine:
    options = {} if isolation_level is None else {"isolation_level": isolation_level}
    return sa.create_engine(url, pool_size=10, **options)


@attrs.frozen
class OutboxDatabase:
    """A database with an outbox table that no other test run has."""

    engine: sa.Engine
    table: sa.Table

    def store(self) -> SqlAlchemyOutboxStore:
        return SqlAlchemyOutboxStore(self.engine, self.table)

    def pass_time(self, duration: dt.timedelta) -> None:
        shifted = _SHIFTED[self.engine.dialect.name]
        columns = ", ".join(
            f"{column} = {shifted.replace('{column}', column)}" for column in _TIMES
        )
        with self.engine.begin() as connection:
            connection.execute(
                sa.text(f"UPDATE {self.quoted_table} SET {columns}"),
                {"seconds": duration.total_seconds()},
            )

    def clear(self) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.delete(self.table))

    @property
    def quoted_table(self) -> str:
        return self.engine.dialect.identifier_preparer.format_table(self.table)


@contextmanager
def outbox_database(engine: sa.Engine) -> Iterator[OutboxDatabase]:
    """Create an outbox table with a name of its own, and drop it in the end."""
    metadata = sa.MetaData()
    table = outbox_table(metadata, f"outbox_{secrets.token_hex(6)}")
    metadata.create_all(engine)
    try:
        yield OutboxDatabase(engine, table)
    finally:
        metadata.drop_all(engine)
        engine.dispose()
