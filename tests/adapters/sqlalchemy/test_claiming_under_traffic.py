"""Nothing is overtaken and nothing doubled, with writers, relays and failures side by side.

To have more traffic:

    EVENTS=10000 pytest tests/adapters/sqlalchemy/test_claiming_under_traffic.py
"""

import os
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.adapters.sqlalchemy.traffic import Traffic
from tests.databases import mariadb_engine, outbox_database, postgresql_engine, sqlite_engine

_EVENTS = int(os.environ.get("EVENTS", "1500"))


def _assert_each_arrives_once_in_order(
    engine: sa.Engine, *, events: int, writers: int, relays: int
) -> None:
    with outbox_database(engine) as database:
        traffic = Traffic(database, events)
        traffic.run(writers=writers, relays=relays)

        broker = traffic.broker
        assert (broker.overtaken, broker.doubled, traffic.lost_leases) == (0, 0, 0)
        assert broker.taken == traffic.stored >= events
        backlog = database.store().backlog()
        assert (backlog.pending, backlog.processing, backlog.failed) == (0, 0, 0)
        assert traffic.born_owned > traffic.stored / 10


@pytest.mark.service("postgresql")
def test_nothing_is_overtaken_on_postgresql() -> None:
    _assert_each_arrives_once_in_order(postgresql_engine(), events=_EVENTS, writers=4, relays=2)


@pytest.mark.service("mariadb")
def test_nothing_is_overtaken_on_mariadb() -> None:
    _assert_each_arrives_once_in_order(mariadb_engine(), events=_EVENTS, writers=4, relays=2)


def test_nothing_is_overtaken_on_sqlite(tmp_path: Path) -> None:
    _assert_each_arrives_once_in_order(
        sqlite_engine(tmp_path), events=_EVENTS // 3, writers=2, relays=1
    )
