"""Parking and waking at the same time: nothing stays parked behind a head that is gone."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest
import sqlalchemy as sa

from pragmatic_ddd.testing.messages import A_MINUTE, a_message, failed, message_ids
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.statements import once_after
from tests.databases import OutboxDatabase, mariadb_engine, outbox_database, postgresql_engine

_A_MOMENT_SECONDS = 1.0
_DEADLINE_SECONDS = 30.0

Revive = Callable[[SqlAlchemyOutboxStore], int]
REVIVALS = [
    pytest.param(lambda store: store.skip(["head"], by="me", reason="sent by hand"), id="skip"),
    pytest.param(lambda store: store.replay(["head"]), id="replay"),
]


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ]
)
def database(request: pytest.FixtureRequest) -> Iterator[OutboxDatabase]:
    engines: dict[str, Callable[[], sa.Engine]] = {
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }
    with outbox_database(engines[request.param]()) as database:
        yield database


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def _sql(database: OutboxDatabase) -> Statements[Sql]:
    return outbox_dialect(database.table, database.engine.dialect).statements


def _with_a_dead_head(database: OutboxDatabase) -> SqlAlchemyOutboxStore:
    store = database.store()
    store.store([a_message("head")])
    store.mark_failed(failed(*store.claim_pending(batch_size=1, lease=A_MINUTE)))
    store.store([a_message("newcomer")])
    return store


def _sendable(store: SqlAlchemyOutboxStore) -> list[str]:
    return message_ids(store.claim_pending(batch_size=9, lease=A_MINUTE))


@pytest.mark.parametrize("revive", REVIVALS)
def test_a_newcomer_is_not_parked_once_its_head_has_gone(
    database: OutboxDatabase, others: ThreadPoolExecutor, revive: Revive
) -> None:
    store = _with_a_dead_head(database)
    gone: list[int] = []
    once_after(
        database.engine,
        _sql(database).lock_newcomers,
        lambda: gone.append(others.submit(revive, store).result(_DEADLINE_SECONDS)),
    )

    store.tidy()

    assert gone == [1]
    assert "newcomer" in _sendable(store)


@pytest.mark.parametrize("revive", REVIVALS)
def test_a_newcomer_that_is_just_being_parked_is_woken_when_its_head_goes(
    database: OutboxDatabase, others: ThreadPoolExecutor, revive: Revive
) -> None:
    store = _with_a_dead_head(database)
    going: list[Future[int]] = []

    def let_it_begin() -> None:
        going.append(others.submit(revive, store))
        # It has to wait for the parking; one that does not ends within this moment.
        wait(going, _A_MOMENT_SECONDS)

    once_after(database.engine, _sql(database).park, let_it_begin)

    store.tidy()

    assert [one.result(_DEADLINE_SECONDS) for one in going] == [1]
    assert "newcomer" in _sendable(store)


@pytest.mark.parametrize("revive", REVIVALS)
def test_what_somebody_has_locked_when_its_head_goes_is_woken_all_the_same(
    database: OutboxDatabase, others: ThreadPoolExecutor, revive: Revive
) -> None:
    store = _with_a_dead_head(database)
    assert store.tidy() == 1
    passed_over = threading.Event()
    once_after(database.engine, _sql(database).lock_parked, passed_over.set)
    newcomer = sa.select(database.table.c.id).where(database.table.c.message_id == "newcomer")

    with database.engine.begin() as connection:
        connection.execute(newcomer.with_for_update())
        going = others.submit(revive, store)
        assert passed_over.wait(_DEADLINE_SECONDS)

    assert going.result(_DEADLINE_SECONDS) == 1
    assert "newcomer" in _sendable(store)


def test_what_stays_locked_when_its_head_goes_is_told(
    database: OutboxDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    store = _with_a_dead_head(database)
    assert store.tidy() == 1
    newcomer = sa.select(database.table.c.id).where(database.table.c.message_id == "newcomer")

    with database.engine.begin() as connection, caplog.at_level(logging.WARNING):
        connection.execute(newcomer.with_for_update())
        assert store.replay(["head"]) == 1

    assert "may be sent an hour late: it is locked" in caplog.text
