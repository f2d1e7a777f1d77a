"""How many statements each verb is, whatever the batch; and that they use their indexes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import ClaimedMessage
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, a_reservation, delivered, failed
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)

Settle = Callable[[SqlAlchemyOutboxStore, list[ClaimedMessage]], int]


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[OutboxDatabase]:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        yield database


@pytest.fixture
def postgresql() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine()) as database:
        yield database


@pytest.fixture
def mariadb() -> Iterator[OutboxDatabase]:
    with outbox_database(mariadb_engine()) as database:
        yield database


def _check_counts(database: OutboxDatabase, *, insert: int, claim: int, begin: int) -> None:
    store = database.store()
    store.backlog()  # a new connection is asked what it carries
    texts: dict[str, set[tuple[str, ...]]] = {}
    for size in (1, 7, 200):
        with statements_of(database.engine) as seen:
            stored = store.store(
                [a_message(of=f"{size}-{number}") for number in range(size)],
                reservation=a_reservation(),
            )
        assert len(seen) == insert
        texts.setdefault("store" if size > 1 else "store one", set()).add(tuple(seen))

        store.release([each.claim for each in stored if each.claim is not None])
        with statements_of(database.engine) as seen:
            claimed = store.claim_pending(batch_size=1000, lease=A_MINUTE)
        assert len(claimed) == size
        assert len(seen) == claim + begin
        texts.setdefault("claim_pending", set()).add(tuple(seen))

        store.release(claimed)
        with statements_of(database.engine) as seen:
            claimed = store.claim([each.id for each in stored], lease=A_MINUTE)
        assert len(claimed) == size
        assert len(seen) == claim + begin
        texts.setdefault("claim", set()).add(tuple(seen))

        settling: dict[str, tuple[int, Settle]] = {
            "retry_later": (1, lambda store, held: store.retry_later(failed(*held))),
            "release": (1, lambda store, held: store.release(held)),
            "mark_failed": (2, lambda store, held: store.mark_failed(failed(*held))),
            "mark_sent": (1, lambda store, held: store.mark_sent(delivered(*held))),
        }
        for verb, (expected, settle) in settling.items():
            with statements_of(database.engine) as seen:
                assert settle(store, claimed) == size
            assert len(seen) == expected + begin
            texts.setdefault(verb, set()).add(tuple(seen))
            store.replay([each.message.message_id for each in claimed])
            database.pass_time(A_MINUTE)
            held = store.claim_pending(batch_size=1000, lease=A_MINUTE)
            claimed = held or claimed

    for verb, different in texts.items():
        assert len(different) == 1, f"{verb} depends on the size of the batch"


@pytest.mark.service("postgresql")
def test_the_number_of_statements_is_constant_on_postgresql(postgresql: OutboxDatabase) -> None:
    _check_counts(postgresql, insert=1, claim=2, begin=0)


def test_the_number_of_statements_is_constant_on_sqlite(sqlite: OutboxDatabase) -> None:
    _check_counts(sqlite, insert=2, claim=2, begin=1)


@pytest.mark.service("mariadb")
def test_the_number_of_statements_is_constant_on_mariadb(mariadb: OutboxDatabase) -> None:
    _check_counts(mariadb, insert=3, claim=3, begin=1)


def _fill(database: OutboxDatabase, events: int = 3000) -> None:
    store = database.store()
    store.store([a_message(of=str(number % 300)) for number in range(events)])
    store.mark_sent(delivered(*store.claim_pending(batch_size=events // 2, lease=A_MINUTE)))


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
def test_the_claim_is_one_range_of_one_partial_index_on_postgresql(
    postgresql: OutboxDatabase, plans: str
) -> None:
    _fill(postgresql)
    name = postgresql.table.name
    autocommit = postgresql.engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        connection.exec_driver_sql(f"VACUUM ANALYZE {name}")
        connection.exec_driver_sql(f"SET plan_cache_mode = {plans}")
        text = outbox_dialect(postgresql.table, postgresql.engine.dialect).statements.lock_due.text
        text = text.replace(":limit", "$1").replace(":confirmed", "$2")
        connection.exec_driver_sql(f"PREPARE claim (int, text) AS {text}")
        plan = connection.exec_driver_sql("EXPLAIN EXECUTE claim (200, '')").scalars().all()
        connection.exec_driver_sql("DEALLOCATE claim")

    assert any(f"Index Scan using {name}_due" in line for line in plan), plan
    assert any("Index Cond: (due_at <=" in line for line in plan), plan
    assert any(
        f"Scan on {name}_hindered" in line or f"using {name}_hindered" in line for line in plan
    )
    assert not any("Seq Scan" in line for line in plan), plan
    # The few hindered ones may be sorted; never what is due, of which there may be a million.
    assert all("Sort Key: h." in line for line in plan if "Sort Key" in line), plan


@pytest.mark.service("postgresql")
def test_a_dead_row_that_is_still_seen_costs_no_probe_on_postgresql(
    postgresql: OutboxDatabase,
) -> None:
    store = postgresql.store()
    store.store([a_message(of="hot") for _ in range(4000)])
    text = outbox_dialect(postgresql.table, postgresql.engine.dialect).statements.lock_due.text

    other = postgresql_engine("REPEATABLE READ")
    with other.connect() as long_transaction:
        long_transaction.exec_driver_sql(f"SELECT count(*) FROM {postgresql.table.name}")
        for _ in range(10):
            store.mark_sent(delivered(*store.claim_pending(batch_size=200, lease=A_MINUTE)))
        with postgresql.engine.connect() as connection:
            text = text.replace(":limit", "200").replace(":confirmed", "''")
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text}"
            (plan,) = connection.exec_driver_sql(explain).scalar_one()
            connection.rollback()
    other.dispose()

    assert _loops(plan["Plan"], f"{postgresql.table.name}_hindered") <= 1, json.dumps(plan)


def _loops(plan: dict[str, object], index: str) -> int:
    own = plan["Actual Loops"] if plan.get("Index Name") == index else 0
    inner = plan.get("Plans", [])
    assert isinstance(own, int)
    assert isinstance(inner, list)
    return max([own, *(_loops(each, index) for each in inner)])


@pytest.mark.service("mariadb")
def test_the_claim_sorts_nothing_on_mariadb(mariadb: OutboxDatabase) -> None:
    _fill(mariadb)
    with mariadb.engine.connect() as connection:
        statement = outbox_dialect(mariadb.table, connection.dialect).statements.lock_due
        explain = sa.text(f"EXPLAIN {statement.text}")
        plan = connection.execute(explain, {"limit": 200, "confirmed": ""}).mappings().all()

    assert [row["key"] for row in plan] == [
        f"{mariadb.table.name}_due",
        f"{mariadb.table.name}_hindered",
    ]
    assert not any("filesort" in row["Extra"] for row in plan)


@pytest.mark.service("mariadb")
def test_a_second_claimer_gets_other_rows_on_mariadb(mariadb: OutboxDatabase) -> None:
    store = mariadb.store()
    store.store([a_message(of=str(number)) for number in range(50)])
    with mariadb.engine.connect() as connection:
        statement = outbox_dialect(mariadb.table, connection.dialect).statements.lock_due
        first = {row[0] for row in statement.execute(connection, {"limit": 5, "confirmed": ""})}

        second = {each.id for each in store.claim_pending(batch_size=5, lease=A_MINUTE)}

        connection.rollback()
    assert len(first) == len(second) == 5
    assert not first & second


def test_the_claim_is_one_range_of_one_partial_index_on_sqlite(sqlite: OutboxDatabase) -> None:
    _fill(sqlite, 400)
    name = sqlite.table.name
    with sqlite.engine.connect() as connection:
        statement = outbox_dialect(sqlite.table, connection.dialect).statements.lock_due
        explain = sa.text(f"EXPLAIN QUERY PLAN {statement.text}")
        plan = [row[3] for row in connection.execute(explain, {"limit": 200, "confirmed": ""})]

    assert any(f"SEARCH o USING INDEX {name}_due (due_at<?)" in line for line in plan), plan
    assert any(f"INDEX {name}_hindered" in line for line in plan), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan
