"""What was sent costs nothing: no statement looks at more rows because of a long history.

Long enough for a planner to be tempted: the primary key, walked from its beginning, finds an
aggregate's oldest unsent row as well, behind all that was sent of it.
"""

import datetime as dt

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, a_reservation, delivered, failed
from tests.adapters.sqlalchemy.statement_costs import (
    PRIMARY,
    SCAN,
    Costs,
    ICostMeter,
    MariaDbMeter,
    PostgreSqlMeter,
    SqliteMeter,
    costs_of,
)
from tests.benchmarks.databases import BenchDatabase, bench_database
from tests.benchmarks.fill import Rows, insert, refill

_SHORT = 200
_LONG = 8_000
_BACKLOG = 300
_BATCH = 200
_HALF = 40_000  # of which the planner takes more than ten thousand to be hindered
_MOST_MORE = 2_000  # the backlog, several times: which plan is best for that is the planner's
_A_WEEK = dt.timedelta(days=7)

_CLAIM = {"lock_due": {"due", "hindered"}, "lock_ended": {"ended"}, "mark_sent": {PRIMARY}}
_INTENDED = {
    "postgresql": _CLAIM
    | {"insert_one": {"unsent"}, "take": {"unsent", PRIMARY}, "lock_newcomers": {"due"}},
    "mariadb": _CLAIM
    | {
        "reserve_mariadb": {"unsent"},
        "gaps": {"unsent"},
        "mark": {PRIMARY},
        "lock_newcomers": {"due", "hindered"},
    },
    "sqlite": _CLAIM
    | {"insert": {"unsent"}, "take": {"unsent", PRIMARY}, "lock_newcomers": {"due", "hindered"}},
}


@attrs.frozen(kw_only=True)
class History:
    """What was sent before.

    Attributes:
        aggregates: Over how many aggregates it goes; ``None``: each event is of its own.
        is_news: Whether the database has last looked at the table when all of it was due.
    """

    aggregates: int | None
    is_news: bool = False

    def write(self, database: BenchDatabase, sent: int) -> None:
        """Have this many rows SENT of aggregates with a backlog, and of others without one."""
        status = "PENDING" if self.is_news else "SENT"
        old = [
            Rows(count=sent, aggregates=self.aggregates, status=status, prefix=prefix)
            for prefix in ("order", "through")
        ]
        new = [
            Rows(count=_BACKLOG, aggregates=self.aggregates, prefix="backlog", of="order"),
            Rows(count=1, prefix="dead", status="FAILED"),
            Rows(count=5, aggregates=1, prefix="behind", of="dead"),
        ]
        if not self.is_news:
            refill(database, *old, *new)
            return
        refill(database, *old)
        outbox = database.outbox
        with database.engine.begin() as connection:
            connection.execute(sa.update(outbox).values(status="SENT", sent_at=outbox.c.due_at))
        insert(database, *new)


_histories = pytest.mark.parametrize(
    "history",
    [
        pytest.param(History(aggregates=1), id="hot"),
        pytest.param(History(aggregates=1, is_news=True), id="hot-and-just-sent"),
        pytest.param(History(aggregates=None), id="unique"),
    ],
)


def _an_event(of: str) -> OutboxMessage:
    return attrs.evolve(a_message(of=of), aggregate_type="bench.order")


def _work(database: BenchDatabase, history: History, sent: int, meter: ICostMeter) -> Costs:
    """Do what an application and a relay do, all day, behind so many SENT rows."""
    store = database.store()
    history.write(database, sent)
    with costs_of(database.engine, database.outbox, meter) as costs:
        for of in ("through-0", "order-0"):  # nothing unsent, and a backlog
            store.store([_an_event(of)], reservation=a_reservation())
        claimed = store.claim_pending(batch_size=_BATCH, lease=A_MINUTE)
        assert len(claimed) == _BATCH
        store.mark_sent(delivered(*claimed[:100]))
        store.retry_later(failed(*claimed[100:101]))
        store.mark_failed(failed(*claimed[101:102]))
        store.release(claimed[102:])
        store.tidy()
        store.purge(older_than=_A_WEEK)
        if not history.is_news:  # else nobody purges it yet
            assert store.purge(older_than=dt.timedelta(), batch_size=50) == 50
    return costs


def _check(database: BenchDatabase, history: History, meter: ICostMeter) -> None:
    short = _work(database, history, _SHORT, meter)
    long = _work(database, history, _LONG, meter)
    grown = {name: (short.most[name], cost) for name, cost in long.most.items()}
    assert not {name: costs for name, costs in grown.items() if costs[1] > costs[0] + _MOST_MORE}, (
        "these look at more rows behind a longer history"
    )
    for name, intended in _INTENDED[database.kind].items():
        assert long.indexes[name] >= intended, name
        assert SCAN not in long.indexes[name], name


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@_histories
def test_a_long_history_costs_nothing_on_postgresql(plans: str, history: History) -> None:
    with bench_database("postgresql") as database:
        _check(database, history, PostgreSqlMeter(plans))


@pytest.mark.service("mariadb")
@_histories
def test_a_long_history_costs_nothing_on_mariadb(history: History) -> None:
    with bench_database("mariadb", isolation_level="READ COMMITTED") as database:
        _check(database, history, MariaDbMeter())


@_histories
def test_a_long_history_costs_nothing_on_sqlite(history: History) -> None:
    with bench_database("sqlite") as database:
        _check(database, history, SqliteMeter())


@pytest.mark.service("postgresql")
def test_half_of_a_long_backlog_sent_is_no_reason_to_read_the_table_on_postgresql() -> None:
    """Else a million rows are drained ten times as slowly as twenty thousand are.

    What is sent keeps its token. So the planner takes most unsent rows to have one, which would be
    hindered, and a table read from its beginning to hold ten thousand of them soon. Without
    bitmaps: their index looks as expensive as that when many rows have come and gone.
    """
    with bench_database("postgresql") as database:
        sa.event.listen(
            database.engine,
            "connect",
            lambda connection, _: connection.execute("SET enable_bitmapscan = off"),
        )
        database.engine.dispose()
        refill(
            database,
            Rows(count=_HALF, status="SENT", prefix="sent"),
            Rows(count=_HALF, prefix="unsent"),
        )
        meter = PostgreSqlMeter("force_custom_plan")
        with costs_of(database.engine, database.outbox, meter) as costs:
            claimed = database.store().claim_pending(batch_size=_BATCH, lease=A_MINUTE)
    assert len(claimed) == _BATCH
    assert costs.indexes["lock_due"] == {"due", "hindered"}
