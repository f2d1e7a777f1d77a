"""Where one run takes place: database, tables, topic, broker, and how eagerly things happen."""

import datetime as dt
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import attrs
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from pragmatic_ddd.application.outbox.config import EagerPoolConfig, OutboxRelayConfig
from pragmatic_ddd_sqlalchemy import create_sqlite_engine, outbox_table
from tests import servers
from tests.acceptance.faults.diary import Diary
from tests.acceptance.faults.shop import account_table

DATABASES = ("sqlite", "postgresql", "mariadb")


@attrs.frozen(kw_only=True)
class ShortLeases(OutboxRelayConfig):
    """Takes leases that leave no margin: a run has no time for those of a real service."""

    def check_against(self, longest_call: dt.timedelta) -> None:
        """Take what is given: the calls of these runs are short, and late ones are counted."""


@attrs.frozen(kw_only=True)
class Stage:
    """Values only, so that any process can make its own connections from it.

    Attributes:
        database: One of ``DATABASES``.
        name: Unique; makes the names of tables and topic.
        folder: For the diary, the logs, and the file of SQLite.
        broker_port: On 127.0.0.1.
        config: Of eager publisher and relay.
        pool: Of the eager publisher.
        send_timeout: Longest wait for the broker's connection, and for its answer.
        side_by_side: How many aggregates a relay sends at once.
    """

    database: str
    name: str
    folder: Path
    broker_port: int
    config: OutboxRelayConfig
    pool: EagerPoolConfig = attrs.field(factory=EagerPoolConfig)
    send_timeout: dt.timedelta = dt.timedelta(seconds=1)
    side_by_side: int = 1

    @classmethod
    def new(
        cls, database: str, *, folder: Path, broker_port: int, config: OutboxRelayConfig
    ) -> Self:
        """Return a stage with a name and a folder of its own."""
        name = f"faults_{database}_{secrets.token_hex(5)}"
        own = folder / name
        own.mkdir(parents=True)
        return cls(database=database, name=name, folder=own, broker_port=broker_port, config=config)

    @property
    def diary(self) -> Diary:
        return Diary(self.folder / "diary.jsonl")

    @property
    def log(self) -> Path:
        return self.folder / "processes.log"

    @property
    def journal(self) -> Path:
        """The broker's, of the topic."""
        return self.folder.parent / f"{self.name}.jsonl"

    def tables(self) -> tuple[sa.Table, sa.Table]:
        """Return the tables of the accounts and of the outbox, in one new ``MetaData``."""
        metadata = sa.MetaData()
        return (
            account_table(metadata, f"{self.name}_account"),
            outbox_table(metadata, f"{self.name}_outbox"),
        )

    def engine(self, **options: Any) -> sa.Engine:  # noqa: ANN401  # as create_engine's
        if self.database == "sqlite":
            return create_sqlite_engine(self.folder / "shop.db", **options)
        url = servers.postgresql_url() if self.database == "postgresql" else servers.mariadb_url()
        return sa.create_engine(url, **options)

    def judges_engine(self) -> sa.Engine:
        """Return an engine that keeps no connection open: its process may fork at any time."""
        return self.engine(poolclass=NullPool)

    def open_accounts(self, accounts: Iterable[str], *, moves: int = 0) -> None:
        """Have accounts there beforehand, so that nobody races to open them."""
        table, _ = self.tables()
        rows = [{"id": one, "version": moves + 1, "moves": moves} for one in accounts]
        with self.judges_engine().begin() as connection:
            connection.execute(table.insert(), rows)

    def unsent(self) -> int:
        """Return how many events are not SENT."""
        _, outbox = self.tables()
        query = sa.select(sa.func.count()).where(outbox.c.status != "SENT")
        with self.judges_engine().connect() as connection:
            return connection.execute(query).scalar_one()

    @contextmanager
    def built(self) -> Iterator[None]:
        """Create the tables, and drop them in the end."""
        accounts, _ = self.tables()
        engine = self.judges_engine()
        accounts.metadata.create_all(engine)
        try:
            yield
        finally:
            accounts.metadata.drop_all(engine)


def seconds_of(value: dt.datetime) -> float:
    """Return a time of the database, which is in UTC, in seconds of the wall clock."""
    return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()
