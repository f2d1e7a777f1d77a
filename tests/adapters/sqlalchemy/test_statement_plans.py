"""What a statement costs grows with what it is about, whatever the planner believes of the table.

A table that fills faster than it is analyzed is taken to be nearly empty.
"""

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import FailedTry
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)
from tests.unit.application.outbox.builders import a_message

_A_MINUTE = dt.timedelta(minutes=1)
_BLOCKED = 2000
_DUE = 200


@pytest.fixture
def postgresql() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine()) as database:
        yield database


@pytest.fixture
def mariadb() -> Iterator[OutboxDatabase]:
    with outbox_database(mariadb_engine()) as database:
        yield database


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[OutboxDatabase]:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        yield database


def _loops(plan: dict[str, Any]) -> Iterator[int]:
    yield plan["Actual Loops"]
    for part in plan.get("Plans", ()):
        yield from _loops(part)


def _block_many(database: OutboxDatabase) -> None:
    """Have many rows wait behind a FAILED one, and some be due."""
    store = database.store()
    store.store([a_message(f"a{n}", of="a", version=n) for n in range(_BLOCKED)])
    store.store([a_message(f"b{n}", of=f"b{n}") for n in range(_DUE)])
    (head,) = store.claim_pending(batch_size=1, lease=_A_MINUTE)
    store.mark_failed([FailedTry(claimed=head, error="refused")])


@pytest.mark.service("postgresql")
def test_on_postgresql_newcomers_are_looked_for_once(postgresql: OutboxDatabase) -> None:
    with postgresql.engine.begin() as connection:
        connection.execute(
            sa.text(f"ALTER TABLE {postgresql.quoted_table} SET (autovacuum_enabled = false)")
        )
    _block_many(postgresql)
    dialect = outbox_dialect(postgresql.table, postgresql.engine.dialect)
    statement = dialect.statements.lock_newcomers

    with postgresql.engine.connect() as connection:
        explain = sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}")
        ((explained,),) = connection.execute(explain, {"limit": 5000})

    (plan,) = explained if isinstance(explained, list) else json.loads(explained)
    assert max(_loops(plan["Plan"])) <= _BLOCKED + _DUE


def _rows_read(connection: sa.Connection) -> int:
    query = sa.text("SHOW SESSION STATUS LIKE 'Handler_read_next'")
    return int(connection.execute(query).one()[1])


@pytest.mark.service("mariadb")
def test_on_mariadb_newcomers_of_a_hot_aggregate_look_for_its_dead_letter_once(
    mariadb: OutboxDatabase,
) -> None:
    store = mariadb.store()
    store.store([a_message(f"a{n}", of="a", version=n) for n in range(_BLOCKED)])
    assert len(store.claim_pending(batch_size=_DUE, lease=_A_MINUTE)) == _DUE
    statement = outbox_dialect(mariadb.table, mariadb.engine.dialect).statements.lock_newcomers

    with mariadb.engine.begin() as connection:
        before = _rows_read(connection)
        assert statement.execute(connection, {"limit": _BLOCKED}).all() == []

        assert _rows_read(connection) - before < 2 * (_BLOCKED + _DUE)


def test_on_sqlite_a_row_that_is_not_to_be_owned_looks_for_no_other(sqlite: OutboxDatabase) -> None:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def steps_to_store(prefix: str) -> int:
        before = steps
        store.store([a_message(f"{prefix}{n}", of="a", version=n) for n in range(1, 100)])
        return steps - before

    store = sqlite.store()
    with sqlite.engine.connect() as connection:
        driver_connection = connection.connection.driver_connection
        assert driver_connection is not None
        driver_connection.set_progress_handler(count, 100)
    first = steps_to_store("first")
    store.store([a_message(f"more{n}", of="a", version=n) for n in range(1, _BLOCKED)])

    assert steps_to_store("last") < 2 * first
