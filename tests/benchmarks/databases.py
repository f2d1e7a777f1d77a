"""The databases of a run: engines as an application has them, and tables of its own."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore, create_sqlite_engine, outbox_table
from tests import servers
from tests.benchmarks.orders import order_table

DATABASES = ("postgresql", "mariadb", "sqlite")


class BenchError(Exception):
    """A part has not done what it was to measure."""


@attrs.frozen(kw_only=True)
class BenchDatabase:
    """A database with an outbox table, with all its indexes, and one of orders.

    Attributes:
        kind: One of ``DATABASES``.
        engine: For the outbox, and for whatever else asks for none of its own.
        outbox: The product's own table.
        orders: The business table.
        synchronous: Whether PostgreSQL waits for the disk at each commit.
    """

    kind: str
    engine: sa.Engine
    outbox: sa.Table
    orders: sa.Table
    synchronous: bool = False

    def store(self) -> SqlAlchemyOutboxStore:
        return SqlAlchemyOutboxStore(self.engine, self.outbox)

    def empty(self) -> None:
        """Leave no row in the outbox, and nothing of the rows that were there."""
        truncate = "DELETE FROM" if self.kind == "sqlite" else "TRUNCATE TABLE"
        with self.engine.begin() as connection:
            connection.exec_driver_sql(f"{truncate} {self.outbox.name}")

    def forget_sent(self) -> None:
        """Delete what was sent, and leave what was not."""
        with self.engine.begin() as connection:
            connection.execute(self.outbox.delete().where(self.outbox.c.status == "SENT"))

    def analyze(self) -> None:
        """Have what was filled in cleaned up, and its statistics read, before time is taken."""
        if self.kind == "sqlite":
            return
        statements = {
            "postgresql": f"VACUUM ANALYZE {self.outbox.name}",
            "mariadb": f"ANALYZE TABLE {self.outbox.name}",
        }
        with self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql(statements[self.kind])

    def unsent(self) -> int:
        query = sa.select(sa.func.count()).where(self.outbox.c.status.not_in(("SENT", "SKIPPED")))
        with self.engine.connect() as connection:
            return connection.execute(query).scalar_one()

    def check_all_sent(self, *, but: int = 0) -> None:
        """Complain where something was not done that time was taken for.

        Args:
            but: How many rows are to be left.

        Raises:
            BenchError: More rows are left, or fewer.
        """
        if (left := self.unsent()) != but:
            raise BenchError(f"{left} rows are not SENT in {self.outbox.name}, instead of {but}")


@contextmanager
def bench_database(
    kind: str, *, synchronous: bool = False, isolation_level: str | None = None
) -> Iterator[BenchDatabase]:
    """Create tables with names of their own, and drop them in the end."""
    name = f"bench_{secrets.token_hex(5)}"
    metadata = sa.MetaData()
    outbox, orders = outbox_table(metadata, f"{name}_outbox"), order_table(metadata, name)
    with tempfile.TemporaryDirectory() as folder:
        options = {} if isolation_level is None else {"isolation_level": isolation_level}
        engine = engine_of(kind, folder=Path(folder), synchronous=synchronous, **options)
        metadata.create_all(engine)
        try:
            yield BenchDatabase(
                kind=kind, engine=engine, outbox=outbox, orders=orders, synchronous=synchronous
            )
        finally:
            metadata.drop_all(engine)
            engine.dispose()


def engine_of(kind: str, *, folder: Path, synchronous: bool, **options: Any) -> sa.Engine:  # noqa: ANN401  # as create_engine's
    """Make an engine."""
    if kind == "sqlite":
        return create_sqlite_engine(folder / "bench.db", **options)
    if kind == "mariadb":
        return sa.create_engine(servers.mariadb_url(), **options)
    arguments = {"options": server_options(synchronous=synchronous)}
    return sa.create_engine(servers.postgresql_url(), connect_args=arguments, **options)


def server_options(*, synchronous: bool) -> str:
    """Return the options of every connection to PostgreSQL, ours and those by hand."""
    return f"-c synchronous_commit={'on' if synchronous else 'off'}"
