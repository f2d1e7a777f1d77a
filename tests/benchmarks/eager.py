"""The eager path: how soon after the COMMIT an event is published, and what it writes.

Handing over is timed from when the driver's COMMIT has returned to the first line of
``publish_stored``; beside it, from ``submit`` to the first line on a bare bounded pool of as many
threads, after the same transaction. Then the committing thread sleeps for a millisecond: until
it does, it holds the interpreter, and no other thread runs. Both hand over inside the unit of work,
right after its commit; the session is closed after that sleep.
"""

import datetime as dt
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import attrs
import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection

from pragmatic_ddd.application.outbox.config import EagerPoolConfig
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitsOfWork
from tests.acceptance.faults.children import wait_for
from tests.benchmarks.application import Application
from tests.benchmarks.databases import BenchDatabase, BenchError, bench_database
from tests.benchmarks.findings import Findings
from tests.benchmarks.measurement import Contender, in_turn, percentile
from tests.benchmarks.orders import Order
from tests.benchmarks.publisher import NoPublisher

_BLOCK = 20
_SLEEP_SECONDS = 0.001
_PATIENCE_SECONDS = 60.0
_MICROSECONDS = 1_000_000


@attrs.define(eq=False)
class FirstLine(NoPublisher):
    """Notes when each aggregate's event has reached it."""

    reached: dict[str, float] = attrs.field(factory=dict)

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        self.reached[message.aggregate_id] = time.perf_counter()
        return super().publish_stored(message)


@attrs.define(eq=False)
class BarePool:
    """A bounded pool as one writes it without an outbox: what does not fit is refused."""

    threads: ThreadPoolExecutor
    room: threading.BoundedSemaphore

    def submit(self, work: Callable[[str], None], order_id: str) -> None:
        if not self.room.acquire(blocking=False):
            raise BenchError("the pool is full")
        self.threads.submit(work, order_id).add_done_callback(lambda _: self.room.release())


@attrs.define(eq=False)
class Handover:
    """Notes how long each took, in microseconds.

    Attributes:
        begun: When what is handed over was ready, by order.
        reached: When it was there, by order.
        taken: All of them.
    """

    reached: dict[str, float]
    begun: dict[str, float] = attrs.field(factory=dict, init=False)
    taken: list[float] = attrs.field(factory=list, init=False)

    def finish(self) -> float:
        """Wait until all are there, and return the median of those begun since the last call."""
        wait_for(lambda: len(self.reached) == len(self.begun), _PATIENCE_SECONDS, "the publisher")
        taken = [self.reached[one] - begun for one, begun in self.begun.items()]
        self.reached.clear()
        self.begun.clear()
        self.taken += [seconds * _MICROSECONDS for seconds in taken]
        return percentile(taken, 0.5) * _MICROSECONDS


def run(*, quick: bool) -> Findings:
    """Measure on PostgreSQL."""
    findings = Findings()
    with ExitStack() as stack:
        database = stack.enter_context(bench_database("postgresql"))
        application = stack.enter_context(Application.on(database))
        _hand_over(application, 20 if quick else 100, findings)
    findings.figure("eager_updates_per_event", _updates_per_event(500 if quick else 5_000))
    return findings


def _hand_over(application: Application, rounds: int, findings: Findings) -> None:
    pool = EagerPoolConfig()
    publisher = FirstLine()
    reached: dict[str, float] = {}
    of_eager, of_bare = Handover(publisher.reached), Handover(reached)
    with ExitStack() as stack:
        eager = stack.enter_context(application.eager(publisher))
        threads = stack.enter_context(ThreadPoolExecutor(pool.workers))
        bare = BarePool(threads, threading.BoundedSemaphore(pool.queue_size))
        committed_at = stack.enter_context(_commits(application.database.engine))
        pushed, unpushed = application.units_of_work(eager), application.units_of_work(None)

        def arrive(order_id: str) -> None:
            reached[order_id] = time.perf_counter()

        def push(order_id: str) -> None:
            _change(pushed, order_id, lambda: None)
            of_eager.begun[order_id] = committed_at[-1]

        def submit(order_id: str) -> None:
            def hand_over() -> None:
                of_bare.begun[order_id] = time.perf_counter()
                bare.submit(arrive, order_id)

            _change(unpushed, order_id, hand_over)

        blocks = {
            "eager": _blocks(application, "eager", rounds, push, of_eager),
            "bare": _blocks(application, "bare", rounds, submit, of_bare),
        }
        for handover in (of_eager, of_bare):
            handover.taken.clear()  # what was warming up
        measured = in_turn(blocks, rounds=rounds)
    findings.ratio("eager_handoff_vs_bare_p50", measured.ratio("eager", "bare"))
    for name, handover in (("eager", of_eager), ("bare", of_bare)):
        for share in (0.5, 0.99):
            value = percentile(handover.taken, share)
            findings.rate(f"handoff_microseconds.{name}_p{share * 100:.0f}", value)
    of_p99 = percentile(of_eager.taken, 0.99) / percentile(of_bare.taken, 0.99)
    findings.figure("eager_handoff_vs_bare_p99", of_p99)


def _blocks(
    application: Application,
    name: str,
    rounds: int,
    hand_over: Callable[[str], None],
    handover: Handover,
) -> Contender:
    """Return what hands over a block of events, and returns the median of their times."""
    ids = [f"{name}-{number}" for number in range(_BLOCK * (rounds + 1))]
    application.open_orders(ids)
    left: Iterator[str] = iter(ids)

    def block() -> float:
        for order_id in itertools.islice(left, _BLOCK):
            hand_over(order_id)
        return handover.finish()

    block()  # to warm up: threads, connections, compiled statements
    return block


def _change(
    units_of_work: SqlAlchemyUnitsOfWork, order_id: str, after_commit: Callable[[], None]
) -> None:
    with units_of_work() as work:
        work.get(Order, order_id).change_and_tell()
        work.commit()
        after_commit()
        time.sleep(_SLEEP_SECONDS)


@contextmanager
def _commits(engine: sa.Engine) -> Iterator[list[float]]:
    """Yield a list that gets the time whenever this thread's COMMIT has returned."""
    times: list[float] = []
    committing = threading.get_ident()
    do_commit = engine.dialect.do_commit

    def commit(connection: PoolProxiedConnection) -> None:
        do_commit(connection)
        if threading.get_ident() == committing:
            times.append(time.perf_counter())

    with patch.object(engine.dialect, "do_commit", commit):
        yield times


def _updates_per_event(events: int) -> float:
    """Return how many rows the eager path updates for each event, as PostgreSQL counts them."""
    with ExitStack() as stack:
        database = stack.enter_context(bench_database("postgresql"))
        application = stack.enter_context(Application.on(database))
        ids = [f"order-{number}" for number in range(events)]
        application.open_orders(ids)
        with application.eager(NoPublisher()) as eager:
            units_of_work = application.units_of_work(eager)
            for order_id in ids:
                _change(units_of_work, order_id, lambda: None)
            if not eager.wait_until_idle(dt.timedelta(seconds=_PATIENCE_SECONDS)):
                raise BenchError("the eager publisher has not caught up")
        database.check_all_sent()
        return _updates(database, events) / events


def _updates(database: BenchDatabase, least: int) -> int:
    """Return the rows updated so far, once the counters know of all sessions."""
    query = sa.text("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = :table")
    counts = [0]

    def is_counted() -> bool:
        database.engine.dispose()  # a session that ends has its counts added
        with database.engine.connect() as connection:
            counts.append(connection.execute(query, {"table": database.outbox.name}).scalar_one())
        return counts[-1] >= least and counts[-1] == counts[-2]

    wait_for(is_counted, _PATIENCE_SECONDS, "the counters of PostgreSQL")
    return counts[-1]
