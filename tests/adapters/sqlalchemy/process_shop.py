"""What a child process of a test runs on: a real database, and a broker that is a file.

The environment says where: URL, TABLE and BROKER. Each line of the broker's file is a message
that it has confirmed.
"""

import datetime as dt
import os
import time
from pathlib import Path

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    EagerPoolConfig,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import outbox_table


@attrs.define
class FileBroker:
    """Confirms a message by a line in a file; may be slow, or hang for ever."""

    path: Path
    longest_call: dt.timedelta = dt.timedelta(seconds=1)
    side_by_side: int = 1
    pause_seconds: float = 0.0
    begun: int = 0

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        self.begun += 1
        time.sleep(self.pause_seconds)
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{message.message_id}\n".encode())
        return Receipt(str(self.path))


def engine_at(url: str) -> sa.Engine:
    parsed = sa.make_url(url)
    if parsed.drivername == "sqlite":
        return create_sqlite_engine(str(parsed.database))
    return sa.create_engine(parsed)


class ProcessShop:
    """Engine, store, eager publisher and relay, as a composition root makes them."""

    def __init__(
        self, *, pause_seconds: float = 0.0, shutdown_seconds: float = 2.0, workers: int = 2
    ) -> None:
        self.engine = engine_at(os.environ["URL"])
        table = outbox_table(sa.MetaData(), os.environ["TABLE"])
        self.store = SqlAlchemyOutboxStore(self.engine, table)
        self.broker = FileBroker(Path(os.environ["BROKER"]), pause_seconds=pause_seconds)
        self.eager = EagerOutboxPublisher(
            store=self.store,
            publisher=self.broker,
            pool=EagerPoolConfig(
                workers=workers, shutdown_timeout=dt.timedelta(seconds=shutdown_seconds)
            ),
        )
        self.relay = OutboxRelay(
            store=self.store,
            publisher=self.broker,
            config=OutboxRelayConfig(poll_interval=dt.timedelta(seconds=1)),
        )

    def connection_ids(self) -> set[int]:
        """Return by what the server knows the connections of the pool (SQLite: none)."""
        ask = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}
        statement = ask.get(self.engine.dialect.name)
        if statement is None:
            return set()
        connections = [self.engine.connect() for _ in range(3)]
        ids = {int(one.exec_driver_sql(statement).scalar_one()) for one in connections}
        for one in connections:
            one.close()
        return ids
