"""What waits is known from the rows themselves, whether or not anybody works on them."""

import datetime as dt

import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd.ports import Backlog
from pragmatic_ddd.testing.faults import ScriptedPublisher, fails, rejects
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered, failed
from pragmatic_ddd_local import CountingMetrics, InMemoryOutboxStore
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import OutboxDatabase

_TWO_HOURS = dt.timedelta(hours=2)


def _fill(database: OutboxDatabase, *, sent: int, unsent: int) -> None:
    """Store sent rows of long ago; and of two hours ago 20 tried, 10 failed, the rest untouched."""
    store = database.store()
    store.store([a_message(of=f"old-{number}") for number in range(sent)])
    store.mark_sent(delivered(*store.claim_pending(batch_size=sent, lease=A_MINUTE)))
    database.pass_time(dt.timedelta(days=1))
    store.store([a_message(of=str(number)) for number in range(unsent)])
    database.pass_time(_TWO_HOURS)
    claimed = store.claim_pending(batch_size=30, lease=A_MINUTE)
    store.retry_later(failed(*claimed[:20], retry_in=dt.timedelta(hours=1)))
    store.mark_failed(failed(*claimed[20:]))


def test_a_backlog_without_any_relay_is_seen_in_one_statement(database: OutboxDatabase) -> None:
    _fill(database, sent=10, unsent=1000)
    store = database.store()

    with statements_of(database.engine) as seen:
        backlog = store.backlog()

    assert len([statement for statement in seen if not statement.startswith("BEGIN")]) == 1
    assert (backlog.pending, backlog.processing, backlog.failed) == (990, 0, 10)
    assert _TWO_HOURS <= backlog.oldest_unsent_age < _TWO_HOURS + dt.timedelta(minutes=1)


def test_the_age_is_nothing_when_nothing_waits(database: OutboxDatabase) -> None:
    store = database.store()
    store.store([a_message()])
    store.mark_sent(delivered(*store.claim_pending(batch_size=1, lease=A_MINUTE)))
    database.pass_time(_TWO_HOURS)

    assert store.backlog() == Backlog(
        pending=0, processing=0, failed=0, oldest_unsent_age=dt.timedelta()
    )


def test_measuring_the_backlog_reads_no_sent_row(database: OutboxDatabase) -> None:
    _fill(database, sent=3000, unsent=100)
    name = database.table.name
    text = outbox_dialect(database.table, database.engine.dialect).statements.backlog.text
    prefix = {"sqlite": "EXPLAIN QUERY PLAN"}.get(database.engine.dialect.name, "EXPLAIN")
    autocommit = database.engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        if database.engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"VACUUM ANALYZE {name}")
        plan = str(connection.execute(sa.text(f"{prefix} {text}")).all())

    # Each of these indexes holds no sent row.
    assert any(f"{name}_{index}" in plan for index in ("unsent", "due")), plan
    assert "Seq Scan" not in plan


@pytest.mark.parametrize("count", [1, 30])
def test_labels_do_not_grow_with_the_messages(count: int) -> None:
    store, publisher, metrics = InMemoryOutboxStore(), ScriptedPublisher(), CountingMetrics()
    stored = [a_message(of=str(number)) for number in range(3 * count)]
    store.store(stored)
    for one in stored[:count]:
        publisher.on(one.message_id, rejects())
    for one in stored[count : 2 * count]:
        publisher.on(one.message_id, fails())
    relay = OutboxRelay(store=store, publisher=publisher, metrics=metrics)

    relay.run_once()
    metrics.backlog(store.backlog())

    assert len(metrics._counts) == 4  # published, failed, dead and the backlog
    assert metrics.count("published") == metrics.count("dead_lettered") == count
