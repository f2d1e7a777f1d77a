"""Claims run at READ COMMITTED whatever the engine does: they see what came after they began."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from pragmatic_ddd.testing.messages import A_MINUTE, a_message, message_ids
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.statements import once_after
from tests.databases import OutboxDatabase, mariadb_engine, outbox_database, postgresql_engine

_ENGINES: dict[str, Callable[[str], sa.Engine]] = {
    "postgresql": postgresql_engine,
    "mariadb": mariadb_engine,
}


@pytest.fixture(
    params=[
        pytest.param((service, level), marks=pytest.mark.service(service), id=f"{service} {level}")
        for service in _ENGINES
        for level in ("REPEATABLE READ", "SERIALIZABLE")
    ]
)
def database(request: pytest.FixtureRequest) -> Iterator[OutboxDatabase]:
    service, level = request.param
    with outbox_database(_ENGINES[service](level)) as database:
        yield database


@pytest.fixture
def writer(database: OutboxDatabase) -> Iterator[sa.Connection]:
    """A transaction of the application that has not ended when the claim begins."""
    engine = database.engine.execution_options(isolation_level="READ COMMITTED")
    with engine.connect() as connection:
        yield connection


def _by_id(store: SqlAlchemyOutboxStore, ids: list[int]) -> list[str]:
    return message_ids(store.claim(ids, lease=A_MINUTE))


def test_what_is_committed_after_the_claim_began_is_not_overtaken(
    database: OutboxDatabase, writer: sa.Connection
) -> None:
    store = database.store()
    store.store_in(writer, [a_message("older", version=None)])
    store.store([a_message("younger", version=None)])
    sql = outbox_dialect(database.table, database.engine.dialect).statements
    once_after(database.engine, sql.lock_due, writer.commit)

    claimed = store.claim_pending(batch_size=9, lease=A_MINUTE)

    assert message_ids(claimed) in ([], ["older", "younger"])
    assert "older" in message_ids(claimed + store.claim_pending(batch_size=9, lease=A_MINUTE))


def test_what_is_committed_after_a_claim_by_id_began_is_not_overtaken(
    database: OutboxDatabase, writer: sa.Connection
) -> None:
    store = database.store()
    (older,) = store.store_in(writer, [a_message("older", version=None)])
    (younger,) = store.store([a_message("younger", version=None)])
    sql = outbox_dialect(database.table, database.engine.dialect).statements
    once_after(database.engine, sql.lock_ids, writer.commit)

    assert _by_id(store, [younger.id]) == []
    assert _by_id(store, [older.id, younger.id]) == ["older", "younger"]
