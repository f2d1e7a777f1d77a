"""How many statements everything takes that happens all day, apart from opening transactions.

Who adds one sees the list of them here, and changes the budget in the same commit, or does
without.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.statements import statements_of
from tests.benchmarks.application import Application, ReservationOnly
from tests.benchmarks.databases import BenchDatabase, bench_database
from tests.benchmarks.fill import Rows, refill
from tests.benchmarks.orders import Order, OrderChanged
from tests.benchmarks.publisher import NoPublisher
from tests.benchmarks.statements import of_clean_round, of_troubled_round, without_opening

_PATIENCE = dt.timedelta(seconds=30)


class Budget(NamedTuple):
    """The most statements on one database.

    Attributes:
        clean_round: A relay's round of 200, all confirmed: claim, verify, mark.
        troubled_round: One with failures, a dead letter, rows parked and given back.
        events_of_a_commit: What a commit stores of its aggregates' events, however many.
        recorded_event: What is recorded on a connection, at once.
        eager_result: What the eager publisher writes of an event that it has sent.
        purge_batch: Rows that ended long ago.
        chores: What a relay tidies and measures, with nothing to do for it.
    """

    clean_round: int
    troubled_round: int
    events_of_a_commit: int
    recorded_event: int
    eager_result: int
    purge_batch: int
    chores: int


# What has changed comes back from the statement that has changed it.
_WITH_RETURNING = Budget(
    clean_round=3,
    troubled_round=7,
    events_of_a_commit=1,
    recorded_event=1,
    eager_result=1,
    purge_batch=2,
    chores=4,
)
_BUDGETS = {
    "postgresql": _WITH_RETURNING,
    # Locks and marks in two statements; nothing of a batch comes back from an INSERT.
    "mariadb": Budget(
        clean_round=4,
        troubled_round=9,
        events_of_a_commit=3,
        recorded_event=3,
        eager_result=1,
        purge_batch=2,
        chores=4,
    ),
    "sqlite": _WITH_RETURNING,
}


@pytest.fixture(params=EVERY_DATABASE)
def database(request: pytest.FixtureRequest) -> Iterator[BenchDatabase]:
    level = "READ COMMITTED" if request.param == "mariadb" else None
    with bench_database(request.param, isolation_level=level) as database:
        database.store().backlog()  # the first connection has more to say to a server
        yield database


@pytest.fixture
def application(database: BenchDatabase) -> Iterator[Application]:
    with Application.on(database) as application:
        application.open_orders(["order-1", "order-2"])
        yield application


def _check(statements: list[str], budget: int) -> None:
    numbered = "\n".join(f"{n}. {one}" for n, one in enumerate(statements, 1))
    assert statements, "nothing was counted"
    assert len(statements) <= budget, f"{len(statements)} statements, not {budget}:\n{numbered}"


def _executed(database: BenchDatabase, work: Callable[[], object]) -> list[str]:
    with statements_of(database.engine) as statements:
        work()
    return without_opening(statements)


def _about_the_outbox(database: BenchDatabase, work: Callable[[], object]) -> list[str]:
    """Leave out what the application does with its orders."""
    about_orders = (f"{database.orders.name} ", f"{database.orders.name}.")
    return [
        one for one in _executed(database, work) if not any(words in one for words in about_orders)
    ]


def test_a_clean_round_of_the_relay(database: BenchDatabase) -> None:
    _check(of_clean_round(database), _BUDGETS[database.kind].clean_round)


def test_a_round_with_failures(database: BenchDatabase) -> None:
    _check(of_troubled_round(database), _BUDGETS[database.kind].troubled_round)


@pytest.mark.parametrize("events", [1, 20])
def test_the_events_of_a_commit(
    database: BenchDatabase, application: Application, events: int
) -> None:
    eager = ReservationOnly(application.eager(NoPublisher()))
    units_of_work = application.units_of_work(eager)

    def change() -> None:
        with units_of_work() as work:
            for order_id in ("order-1", "order-2"):
                for _ in range(events):
                    work.get(Order, order_id).change_and_tell()
            work.commit()

    statements = _about_the_outbox(database, change)

    assert database.unsent() == 2 * events
    _check(statements, _BUDGETS[database.kind].events_of_a_commit)


def test_an_eager_commit_with_all_that_becomes_of_it(
    database: BenchDatabase, application: Application
) -> None:
    budget = _BUDGETS[database.kind]
    with application.eager(NoPublisher()) as eager:
        units_of_work = application.units_of_work(eager)

        def change() -> None:
            with units_of_work() as work:
                work.get(Order, "order-1").change_and_tell()
                work.commit()
            assert eager.wait_until_idle(_PATIENCE)

        everything = _executed(database, change)
        database.check_all_sent()
        about_the_outbox = _about_the_outbox(database, change)

    _check(about_the_outbox, budget.events_of_a_commit + budget.eager_result)
    # The order is read and written, as it would be without an event.
    _check(everything, budget.events_of_a_commit + budget.eager_result + 2)


def test_an_event_recorded_on_a_connection(
    database: BenchDatabase, application: Application
) -> None:
    with database.engine.begin() as connection:
        recorder = application.outbox(None).recorder(connection)

        def record() -> None:
            recorder.record("bench.order", "1", OrderChanged(aggregate_id="1", step=1))

        record()  # the first one asks a server how much it can take
        statements = _executed(database, record)

    _check(statements, _BUDGETS[database.kind].recorded_event)


def test_a_batch_of_the_purge(database: BenchDatabase) -> None:
    store = database.store()
    refill(database, Rows(count=300, status="SENT"))

    def purge() -> None:
        assert store.purge(older_than=dt.timedelta(), batch_size=200) == 200

    statements = _executed(database, purge)

    _check(statements, _BUDGETS[database.kind].purge_batch)


def test_chores_without_anything_to_do(database: BenchDatabase) -> None:
    store = database.store()
    refill(database, Rows(count=200, status="SENT"))

    def look_after() -> None:
        store.tidy()
        store.backlog()

    _check(_executed(database, look_after), _BUDGETS[database.kind].chores)
