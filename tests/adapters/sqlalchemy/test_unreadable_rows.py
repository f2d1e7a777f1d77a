"""Rows that a person or another program has spoilt: each blocks its aggregate, nothing else."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import Delivered, OutboxStatus
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)
from tests.unit.application.outbox.builders import a_message

_A_MINUTE = dt.timedelta(minutes=1)


@pytest.fixture(params=EVERY_DATABASE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OutboxDatabase]:
    engine = {
        "sqlite": lambda: sqlite_engine(tmp_path),
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }[request.param]()
    with outbox_database(engine) as database:
        yield database


def _spoil(database: OutboxDatabase, message_id: str, **columns: object) -> None:
    table = database.table
    with database.engine.begin() as connection:
        connection.execute(
            sa.update(table).where(table.c.message_id == message_id).values(**columns)
        )


def _send(store: SqlAlchemyOutboxStore) -> list[str]:
    claimed = store.claim_pending(batch_size=10, lease=_A_MINUTE)
    store.mark_sent([Delivered(claimed=one, receipt="") for one in claimed])
    return [one.message.message_id for one in claimed]


@pytest.mark.parametrize(
    "columns",
    [
        {"headers": "{"},
        {"headers": "[]"},
        {"headers": '{"a":1}'},
        {"headers": "[" * 100_000},
        {"payload": ""},
    ],
    ids=["cut off", "no object", "no text", "too deep", "empty"],
)
def test_a_row_that_cannot_be_read_blocks_its_aggregate_and_nothing_else(
    database: OutboxDatabase, columns: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    store = database.store()
    store.store([a_message(f"a{n}", of="a", version=n) for n in range(1, 4)])
    store.store([a_message("b1", of="b")])
    _spoil(database, "a2", **columns)

    assert _send(store) == ["a1", "b1"]
    assert _send(store) == []

    (dead,) = store.list_failed()
    assert dead.message.message_id == "a2"
    assert "cannot be read" in (dead.last_error or "")
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert store.backlog().processing == 0

    _spoil(database, "a2", headers="{}", payload="{}")
    store.replay(["a2"])
    assert _send(store) == ["a2", "a3"]


def test_a_payload_that_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    with outbox_database(sqlite_engine(tmp_path)) as database:  # others hold only text there
        store = database.store()
        store.store([a_message("a1", of="a"), a_message("b1", of="b")])
        _spoil(database, "a1", payload=sa.text("x'7b7d'"))

        assert _send(store) == ["b1"]

        (dead,) = store.list_failed()
        assert dead.message.message_id == "a1"


def test_behind_an_unreadable_row_the_claim_looks_again(database: OutboxDatabase) -> None:
    store = database.store()
    store.store([a_message("a1", of="a")])
    store.store([a_message("b1", of="b")])
    _spoil(database, "a1", headers="{")

    claimed = store.claim_pending(batch_size=1, lease=_A_MINUTE)

    assert [one.message.message_id for one in claimed] == ["b1"]
    entry = store.find("a1")
    assert entry is not None
    assert entry.status is OutboxStatus.FAILED
