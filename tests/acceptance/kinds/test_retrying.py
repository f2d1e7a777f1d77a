"""What is tried again, when, how often, and at whose expense."""

import datetime as dt

import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.ports import OutboxStatus
from pragmatic_ddd.testing.faults import (
    ScriptedPublisher,
    Step,
    fails,
    goes_unconfirmed,
    rejects,
    unavailable,
)
from pragmatic_ddd.testing.messages import A_MINUTE, a_message
from tests.acceptance.kinds.virtual_time import VirtualTime
from tests.databases import OutboxDatabase
from tests.unit.application.outbox.builders import seconds

_STEP = seconds(60)  # at most one probe in it: they are 30 s apart by then
_OUTAGE = dt.timedelta(hours=3)
_AN_HOUR = dt.timedelta(hours=1)


def _counts(database: OutboxDatabase) -> dict[str, int]:
    table = database.table
    with database.engine.connect() as connection:
        rows = connection.execute(
            sa.select(table.c.status, sa.func.count()).group_by(table.c.status)
        )
        return {row[0]: row[1] for row in rows}


@pytest.mark.parametrize("outage", [unavailable(), goes_unconfirmed()], ids=["away", "silent"])
def test_three_hours_without_a_broker_kill_no_message(virtual: VirtualTime, outage: Step) -> None:
    database, store = virtual.database, virtual.store()
    stored = [a_message(of=str(number)) for number in range(400)]
    store.store(stored)
    publisher = ScriptedPublisher()
    relay = OutboxRelay(
        store=store,
        publisher=publisher,
        config=OutboxRelayConfig(max_attempts=5, batch_size=200),
        health=BrokerHealth(virtual.monotonic),
        monotonic=virtual.monotonic,
    )
    steps = int(_OUTAGE / _STEP)
    with publisher.always(outage):
        for step in range(steps):
            tried = len(publisher.tried)
            while relay.run_once().claimed:
                pass
            assert len(publisher.tried) - tried <= (200 if step == 0 else 1)
            virtual.pass_in_process(_STEP)
            if step % 18 == 17:  # the rows grow older by as much, in fewer statements
                database.pass_time(18 * _STEP)

    with database.engine.connect() as connection:
        attempts = connection.execute(sa.select(sa.func.max(database.table.c.attempts)))
        assert attempts.scalar_one() == 0
    assert _counts(database) == {"PENDING": 400}
    database.pass_time(_AN_HOUR)
    batches = []
    while claimed := relay.run_once().claimed:
        batches.append(claimed)

    assert _counts(database) == {"SENT": 400}
    assert batches[:8] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert sorted(publisher.delivered_ids()) == sorted(one.message_id for one in stored)


@pytest.mark.parametrize("failures", [0, 1, 46, 47, 1100, 10**6])
def test_a_row_that_failed_very_often_is_due_within_the_cap(
    database: OutboxDatabase, failures: int
) -> None:
    store, publisher, table = database.store(), ScriptedPublisher(), database.table
    store.store([a_message("m1")])
    with database.engine.begin() as connection:
        connection.execute(table.update().values(failures=failures))
    config = OutboxRelayConfig(max_attempts=1000, backoff_cap=_AN_HOUR)
    relay = OutboxRelay(store=store, publisher=publisher, config=config)
    with publisher.always(fails()):
        assert relay.run_once().failed == 1

    due_in = store.next_due_in()

    assert due_in is not None
    assert dt.timedelta() < due_in <= _AN_HOUR
    if failures > 40:
        assert due_in > _AN_HOUR * 0.49
    entry = store.find("m1")
    assert entry is not None
    assert (entry.attempts, entry.status) == (1, OutboxStatus.PENDING)


def test_a_message_that_the_broker_refuses_keeps_no_other_from_being_sent(
    virtual: VirtualTime,
) -> None:
    store, publisher = virtual.store(), ScriptedPublisher()
    stored = [a_message(f"m{number}", of=str(number)) for number in range(1, 21)]
    store.store(stored)
    publisher.on("m1", rejects("too large"))
    publisher.on("m7", fails("timeout"))
    relay = OutboxRelay(
        store=store,
        publisher=publisher,
        config=OutboxRelayConfig(backoff_base=A_MINUTE),
        monotonic=virtual.monotonic,
    )

    done = relay.run_once()

    assert (done.sent, done.dead, done.failed) == (18, 1, 1)
    (dead,) = store.list_failed()
    assert dead.message.message_id == "m1"
    assert "too large" in (dead.last_error or "")
    assert relay.run_once().claimed == 0
    due_in = store.next_due_in()
    assert due_in is not None  # until then the relay sleeps
    assert seconds(0) < due_in <= A_MINUTE
    virtual.pass_time(A_MINUTE)
    assert relay.run_once().sent == 1
    assert _counts(virtual.database) == {"SENT": 19, "FAILED": 1}
