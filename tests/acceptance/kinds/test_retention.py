"""The table stays small, in small steps, also under load; and what that costs is bounded."""

import datetime as dt
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.testing.faults import ScriptedPublisher, takes
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered, failed
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from tests.acceptance.kinds.virtual_time import StoreInVirtualTime, VirtualTime
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import OutboxDatabase, outbox_database, postgresql_engine
from tests.unit.application.outbox.builders import seconds

_ENDED = 2000  # 200,000 take minutes to store, and are deleted in the same steps
_BATCH = 200
_AN_HOUR = dt.timedelta(hours=1)


@attrs.define
class Deletions:
    """What was deleted, and when it was committed, by one connection after the other."""

    rows: list[int] = attrs.field(factory=list)
    in_one_transaction: list[int] = attrs.field(factory=list)
    _open: dict[int, int] = attrs.field(factory=dict)

    def executed(self, connection: sa.Connection, *arguments: Any) -> None:  # noqa: ANN401
        cursor, statement = arguments[:2]
        if statement.lstrip().startswith("DELETE"):
            self.rows.append(cursor.rowcount)
            self._open[id(connection)] = self._open.get(id(connection), 0) + 1

    def committed(self, connection: sa.Connection) -> None:
        if count := self._open.pop(id(connection), 0):
            self.in_one_transaction.append(count)


@contextmanager
def _deletions(engine: sa.Engine) -> Iterator[Deletions]:
    deletions = Deletions()
    sa.event.listen(engine, "after_cursor_execute", deletions.executed)
    sa.event.listen(engine, "commit", deletions.committed)
    try:
        yield deletions
    finally:
        sa.event.remove(engine, "after_cursor_execute", deletions.executed)
        sa.event.remove(engine, "commit", deletions.committed)


def test_a_purge_beside_producers_deletes_batch_by_batch_and_only_what_ended(
    database: OutboxDatabase,
) -> None:
    store = database.store()
    store.store([a_message(f"waits-{number}", of=f"w{number}") for number in range(5)])
    claimed = store.claim_pending(batch_size=2, lease=A_MINUTE)
    (dead,) = store.claim_pending(batch_size=1, lease=A_MINUTE)
    store.mark_failed(failed(dead))
    database.pass_time(-A_MINUTE)  # these are due later than all others
    store.store([a_message(of=str(number)) for number in range(_ENDED)])
    ended = store.claim_pending(batch_size=_ENDED, lease=A_MINUTE)
    store.mark_sent(delivered(*ended))
    database.pass_time(_AN_HOUR)
    stop = threading.Event()

    def clean() -> int:
        deleted = 0
        while batch := store.purge(older_than=A_MINUTE, batch_size=_BATCH):
            deleted += batch
        return deleted

    def produce() -> int:
        written = 0
        while not stop.is_set():
            store.store([a_message(of=f"new-{written}")])
            written += 1
        return written

    with _deletions(database.engine) as deletions, ThreadPoolExecutor(3) as pool:
        producer = pool.submit(produce)
        try:
            cleaners = [pool.submit(clean) for _ in range(2)]
            deleted = sum(cleaner.result() for cleaner in cleaners)
        finally:
            stop.set()
        deleted += clean()  # a cleaner may have passed over what the other was about to delete

    assert deleted == sum(deletions.rows) == _ENDED
    assert max(deletions.rows) <= _BATCH
    assert set(deletions.in_one_transaction) == {1}
    backlog = store.backlog()
    assert (backlog.failed, backlog.processing) == (1, len(claimed))
    assert backlog.pending == 2 + producer.result()


def test_a_purge_finds_what_ended_by_an_index(database: OutboxDatabase) -> None:
    store = database.store()
    store.store([a_message(of=str(number)) for number in range(2000)])
    store.mark_sent(delivered(*store.claim_pending(batch_size=2000, lease=A_MINUTE)))
    dialect, name = database.engine.dialect, database.table.name
    text = outbox_dialect(database.table, dialect).statements.lock_ended.text
    prefix = "EXPLAIN QUERY PLAN" if dialect.name == "sqlite" else "EXPLAIN"
    autocommit = database.engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        if dialect.name == "postgresql":
            connection.exec_driver_sql(f"VACUUM ANALYZE {name}")
        parameters = {"older_than": 60.0, "limit": _BATCH}
        plan = str(connection.execute(sa.text(f"{prefix} {text}"), parameters).all())

    assert f"{name}_ended" in plan
    assert not any(sign in plan for sign in ("Sort", "filesort", "TEMP B-TREE")), plan


@attrs.define(eq=False)
class WatchedStore(StoreInVirtualTime):
    """Notes when it is asked to purge."""

    purges: list[float] = attrs.field(factory=list, kw_only=True)

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        self.purges.append(self.time.passed)
        return super().purge(older_than=older_than, batch_size=batch_size)


def test_a_relay_that_never_catches_up_still_cleans_every_minute(virtual: VirtualTime) -> None:
    """Ten minutes in which each send takes 5 s and two new events are stored meanwhile."""
    store = WatchedStore(virtual.database.engine, virtual.database.table, time=virtual)
    publisher = ScriptedPublisher(longest_call=seconds(6))
    relay = OutboxRelay(
        store=store,
        publisher=publisher,
        config=OutboxRelayConfig(batch_size=5, retention=A_MINUTE),
        health=BrokerHealth(virtual.monotonic),
        monotonic=virtual.monotonic,
    )

    def produce(duration: dt.timedelta) -> None:
        virtual.pass_time(duration)
        store.store([a_message(), a_message()])
        if virtual.passed >= 600:
            relay.stop()

    store.store([a_message() for _ in range(5)])
    first = _oldest(store)
    with publisher.always(takes(seconds(5), produce)):
        relay.run()

    assert len(store.purges) >= 8
    assert max(b - a for a, b in zip(store.purges, store.purges[1:], strict=False)) < 120
    assert store.backlog().pending > 100  # it has never caught up
    assert store.find(first) is None


def _oldest(store: WatchedStore) -> str:
    table = store.table
    with store.engine.connect() as connection:
        oldest = sa.select(table.c.message_id).order_by(table.c.id).limit(1)
        return str(connection.execute(oldest).scalar_one())


@pytest.mark.parametrize("held", [False, True], ids=["alone", "beside an old transaction"])
@pytest.mark.service("postgresql")
def test_each_row_is_written_three_times_and_probed_no_more_beside_an_old_transaction(
    *, held: bool
) -> None:
    """Insert, claim, mark: each leaves one dead version that no vacuum takes meanwhile."""
    rows, batch = 2000, 200
    with outbox_database(postgresql_engine()) as database:
        store, name = database.store(), database.table.name
        old = postgresql_engine("REPEATABLE READ")
        with old.connect() as long_transaction:
            if held:
                long_transaction.exec_driver_sql(f"SELECT count(*) FROM {name}")
            store.store([a_message(of=str(number)) for number in range(rows)])
            with statements_of(database.engine) as seen:
                for _ in range(rows // batch):
                    claimed = store.claim_pending(batch_size=batch, lease=A_MINUTE)
                    store.mark_sent(delivered(*claimed))
            store.store([a_message(of=str(number)) for number in range(rows)])
            with database.engine.begin() as connection:  # an old transaction does not hinder this
                connection.exec_driver_sql(f"ANALYZE {name}")
            plan = _claim_plan(database, batch)
        old.dispose()

        assert len(seen) == 3 * rows // batch
        updates = [statement for statement in seen if "UPDATE" in statement.split("FOR UPDATE")[0]]
        assert len(updates) == 2 * rows // batch
        assert _returned(plan, f"{name}_due") <= batch
        assert _loops(plan, f"{name}_hindered") <= 1


def _claim_plan(database: OutboxDatabase, limit: int) -> dict[str, Any]:
    text = outbox_dialect(database.table, database.engine.dialect).statements.lock_due.text
    with database.engine.connect() as connection:
        explain = sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}")
        found = connection.execute(explain, {"limit": limit, "confirmed": ""}).scalar_one()
        connection.rollback()
    (plan,) = found if isinstance(found, list) else json.loads(found)
    top: dict[str, Any] = plan["Plan"]
    return top


def _nodes(plan: dict[str, Any], index: str) -> Iterator[dict[str, Any]]:
    if plan.get("Index Name") == index:
        yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part, index)


def _returned(plan: dict[str, Any], index: str) -> int:
    return sum(int(node["Actual Rows"]) * int(node["Actual Loops"]) for node in _nodes(plan, index))


def _loops(plan: dict[str, Any], index: str) -> int:
    return max((int(node["Actual Loops"]) for node in _nodes(plan, index)), default=0)
