"""Storing an event: a unit of work that raises one beside the same transaction without it.

Each contender works off blocks of transactions, each on an order of its own, from opening the
session to having closed it. Nothing else is timed, nor is the first of a block; what an eager
publisher has left to do is waited for between the blocks.
"""

import datetime as dt
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from tests.benchmarks.application import Application, ReservationOnly
from tests.benchmarks.databases import DATABASES, BenchError, bench_database
from tests.benchmarks.findings import Findings
from tests.benchmarks.measurement import Contender, Measured, in_turn
from tests.benchmarks.orders import Order
from tests.benchmarks.publisher import NoPublisher

_BLOCK = 5  # short, so that what slows the machine down slows all contenders of a round
_WARM_UP = 1  # garbage is collected before a block, which leaves nothing in the caches
_PATIENCE = dt.timedelta(seconds=60)

# Rows are born owned at READ COMMITTED only, which is not what MariaDB begins with.
_ISOLATION_LEVELS = {"mariadb": "READ COMMITTED"}


def run(*, quick: bool) -> Findings:
    """Measure on each database."""
    findings = Findings()
    for kind in DATABASES:
        measured = _measure(kind, rounds=50 if quick else 250)
        for key, contender in {
            "store_overhead": "event",
            "store_overhead_version_only": "event_version_only",
            "store_overhead_without_reservation": "event_without_reservation",
            "store_overhead_with_eager": "event_with_eager",
        }.items():
            findings.ratio(f"{key}.{kind}", measured.ratio(contender, "without"))
        findings.medians(f"ms_per_transaction.{kind}", measured)
    return findings


def _measure(kind: str, *, rounds: int) -> Measured:
    with ExitStack() as stack:
        level = _ISOLATION_LEVELS.get(kind)
        database = stack.enter_context(bench_database(kind, isolation_level=level))
        application = stack.enter_context(Application.on(database))
        return in_turn(_contenders(application, rounds), rounds=rounds)


def _contenders(application: Application, rounds: int) -> dict[str, Contender]:
    sessions = application.sessions()
    idle = application.eager(NoPublisher())
    eager = application.eager(NoPublisher())
    reserved = application.units_of_work(ReservationOnly(idle))
    unreserved = application.units_of_work(None)
    pushed = application.units_of_work(eager)

    def without(order_id: str) -> None:
        with sessions.begin() as session:
            session.get_one(Order, order_id).change()

    def event(order_id: str) -> None:
        with reserved() as work:
            work.get(Order, order_id).change_and_tell()
            work.commit()

    def event_version_only(order_id: str) -> None:
        """Nothing but the event: the version is raised for its sake."""
        with reserved() as work:
            work.get(Order, order_id).tell()
            work.commit()

    def event_without_reservation(order_id: str) -> None:
        with unreserved() as work:
            work.get(Order, order_id).change_and_tell()
            work.commit()

    def event_with_eager(order_id: str) -> None:
        with pushed() as work:
            work.get(Order, order_id).change_and_tell()
            work.commit()

    def catch_up() -> None:
        if not eager.wait_until_idle(_PATIENCE):
            raise BenchError("the eager publisher has not caught up")

    def nothing() -> None: ...

    return {
        transact.__name__: _blocks(application, transact, rounds, afterwards)
        for transact, afterwards in (
            (without, nothing),
            (event, nothing),
            (event_version_only, nothing),
            (event_without_reservation, nothing),
            (event_with_eager, catch_up),
        )
    }


def _blocks(
    application: Application,
    transact: Callable[[str], None],
    rounds: int,
    afterwards: Callable[[], None],
) -> Contender:
    """Return what does one block, and returns the milliseconds of one transaction."""
    count = (_WARM_UP + _BLOCK) * (rounds + 1)
    ids = [f"{transact.__name__}-{number}" for number in range(count)]
    application.open_orders(ids)
    left: Iterator[str] = iter(ids)

    def block() -> float:
        for order_id in itertools.islice(left, _WARM_UP):
            transact(order_id)
        chosen = list(itertools.islice(left, _BLOCK))
        started = time.perf_counter()
        for order_id in chosen:
            transact(order_id)
        seconds = time.perf_counter() - started
        afterwards()
        return seconds * 1000 / _BLOCK

    block()  # to warm up: connections, compiled statements
    return block
