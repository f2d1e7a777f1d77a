"""A database that takes no writes for a while: clear errors, pauses, and then all goes on.

So does a failover: the pool's connections still lead to the old primary, which answers.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import OutboxStatus
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_sqlalchemy.engine import make_sqlite_safe
from pragmatic_ddd_sqlalchemy.errors import is_read_only
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)
from tests.unit.application.outbox.builders import eventually, seconds

_FORBIDDING = {
    "postgresql": "SET default_transaction_read_only = on",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}
_SAYS_WHY = {
    "postgresql": "read-only transaction",
    "mysql": "READ ONLY transaction",
    "sqlite": "readonly database",
}


@attrs.define
class Failover:
    """A database whose new connections take no writes, as long as it is said so."""

    outbox: OutboxDatabase
    is_read_only: bool = False

    @property
    def engine(self) -> sa.Engine:
        return self.outbox.engine

    def begin(self, *, connections: int) -> None:
        """Have the pool hold connections that take no writes, for ever."""
        self.is_read_only = True
        self.engine.dispose()
        with contextlib.ExitStack() as stack:
            for _ in range(connections):
                stack.enter_context(self.engine.connect())


def _by_setting(engine: sa.Engine, failover: Failover) -> None:
    def connected(connection: DBAPIConnection, _: object) -> None:
        if failover.is_read_only:
            cursor = connection.cursor()
            cursor.execute(_FORBIDDING[engine.dialect.name])
            connection.commit()

    sa.event.listen(engine, "connect", connected)


@pytest.fixture(
    params=[
        "sqlite",
        "sqlite file",
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ]
)
def failover(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Failover]:
    def connect_to_file() -> sqlite3.Connection:
        mode = "ro" if changing.is_read_only else "rwc"
        path = f"file:{tmp_path / 'outbox.db'}?mode={mode}"
        return sqlite3.connect(path, uri=True, check_same_thread=False)

    engines: dict[str, Callable[[], sa.Engine]] = {
        "sqlite": lambda: sqlite_engine(tmp_path),
        "sqlite file": lambda: make_sqlite_safe(
            sa.create_engine(f"sqlite:///{tmp_path}/outbox.db", creator=connect_to_file)
        ),
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }
    engine = engines[request.param]()
    changing = Failover(OutboxDatabase(engine, sa.Table("none_yet", sa.MetaData())))
    with outbox_database(engine) as database:
        changing.outbox = database
        if request.param != "sqlite file":
            _by_setting(engine, changing)
        yield changing
        changing.is_read_only = False
        engine.dispose()


def test_connections_that_have_become_read_only_are_replaced_and_nobody_notices(
    failover: Failover,
) -> None:
    store = failover.outbox.store()
    store.store([a_message(of=str(number)) for number in range(6)])
    failover.begin(connections=4)
    failover.is_read_only = False

    for _ in range(6):
        (claimed,) = store.claim_pending(batch_size=1, lease=A_MINUTE)
        assert store.release([claimed]) == 1
    store.purge(older_than=A_MINUTE)
    assert store.tidy() == 0

    with contextlib.ExitStack() as stack:
        table = failover.outbox.table
        for _ in range(5):
            connection = stack.enter_context(failover.engine.connect())
            connection.execute(sa.delete(table).where(table.c.id < 0))
            connection.rollback()


def test_a_store_that_takes_no_writes_says_so_and_keeps_no_connection(failover: Failover) -> None:
    store = failover.outbox.store()
    store.store([a_message("m1"), a_message("m2", of="2")])
    store.mark_sent(delivered(*store.claim_pending(batch_size=1, lease=A_MINUTE)))
    failover.begin(connections=1)

    why = _SAYS_WHY[failover.engine.dialect.name]
    with pytest.raises(OutboxStoreError, match=why):
        store.claim_pending(batch_size=1, lease=A_MINUTE)
    with pytest.raises(OutboxStoreError, match=why):
        store.store([a_message()])
    with pytest.raises(OutboxStoreError, match=why):
        store.purge(older_than=-A_MINUTE)

    assert store.backlog().pending == 1, "it may still be read"
    failover.is_read_only = False
    assert len(store.claim_pending(batch_size=1, lease=A_MINUTE)) == 1
    store.store([a_message()])


def test_the_applications_own_sessions_do_not_meet_such_a_connection_for_ever(
    failover: Failover,
) -> None:
    failover.outbox.store()
    failover.begin(connections=3)

    with Session(failover.engine) as session, pytest.raises(DBAPIError) as refused:
        session.execute(sa.delete(failover.outbox.table))
    failover.is_read_only = False

    assert is_read_only(refused.value)
    with Session(failover.engine) as session:
        session.execute(sa.delete(failover.outbox.table))
        session.commit()


def test_a_relay_goes_on_without_a_restart_once_writes_are_taken_again(
    failover: Failover, caplog: pytest.LogCaptureFixture
) -> None:
    store = failover.outbox.store()
    store.store([a_message("m1")])
    metrics = CountingMetrics()
    relay = OutboxRelay(
        store=store,
        publisher=ScriptedPublisher(longest_call=seconds(1)),
        config=OutboxRelayConfig(poll_interval=seconds(1)),
        metrics=metrics,
    )
    failover.begin(connections=2)

    with relay:
        eventually(lambda: metrics.count("relay_failed") >= 2)
        failover.is_read_only = False
        eventually(lambda: store.backlog().pending + store.backlog().processing == 0)

    entry = store.find("m1")
    assert entry is not None
    assert (entry.status, entry.attempts) == (OutboxStatus.SENT, 0)
    assert metrics.count("relay_failed") <= 6, "it has waited between its tries, longer each time"
    errors = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert len(errors) <= 3, "an outage is told once: of the sending, and of each chore"
    assert all(_SAYS_WHY[failover.engine.dialect.name] in one.getMessage() for one in errors)
