"""What a table that has grown costs: a history, parked rows, a long backlog, old snapshots.

Each contender is the relay on the same small backlog, beside what has grown and without it.
"""

import datetime as dt
import functools
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import attrs

from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.errors import EventRejectedError
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd.ports.outbox_message import Delivered
from tests.benchmarks import memory
from tests.benchmarks.backlog import Backlog
from tests.benchmarks.databases import BenchDatabase, BenchError, bench_database
from tests.benchmarks.drain import relay_drains
from tests.benchmarks.fill import Rows, fill, insert, refill
from tests.benchmarks.findings import Findings
from tests.benchmarks.measurement import Contender, in_turn
from tests.benchmarks.publisher import RECEIPT, NoPublisher

_STUCK = 2
_BATCH = 200
_LEASE = dt.timedelta(seconds=60)
_NO_STATISTICS = {
    "postgresql": "SET (autovacuum_enabled = false)",
    "mariadb": "STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0",
}
_LONG_AGO_SECONDS = 2 * 60 * 60  # what was stored so long ago is parked for an hour


@attrs.frozen(kw_only=True)
class Sizes:
    """How large is what.

    Attributes:
        backlog: Rows that are drained in each round.
        parked: Rows that wait behind dead letters.
        million: Rows of a history, and of a long backlog.
        rounds: How often each contender has its turn.
    """

    backlog: int
    parked: int
    million: int
    rounds: int


_FULL = Sizes(backlog=20_000, parked=100_000, million=1_000_000, rounds=5)
_QUICK = Sizes(backlog=5_000, parked=10_000, million=100_000, rounds=3)


class Rejecting(NoPublisher):
    """Takes nothing, for good."""

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        raise EventRejectedError(message.message_id, message.event_type, "rejected")


def run(*, quick: bool) -> Findings:
    """Measure on PostgreSQL, and what MariaDB makes of the same."""
    sizes = _QUICK if quick else _FULL
    findings = Findings()
    for kind, suffix in (("postgresql", ""), ("mariadb", "_mariadb")):
        findings.add(_parked(kind, suffix, sizes))
        findings.add(_history(kind, suffix, sizes))
        findings.add(_stale_statistics(kind, suffix, sizes))
    findings.add(_held_snapshot(sizes))
    findings.add(memory.run(sizes.million))
    return findings


def _parked(kind: str, suffix: str, sizes: Sizes) -> Findings:
    findings = Findings()
    parked = _STUCK + sizes.parked
    with ExitStack() as stack:
        clean = stack.enter_context(bench_database(kind))
        beside = stack.enter_context(bench_database(kind))
        findings.rate(f"parking_ms.at_once.{kind}", 1000 * _park_at_once(beside, parked))
        findings.rate(f"parking_ms.met.{kind}", 1000 * _park_what_is_met(beside, sizes))
        measured = in_turn(
            {
                name: Backlog(
                    database=database,
                    count=sizes.backlog,
                    work=relay_drains(database),
                    begin=database.forget_sent,
                    left=left,
                ).warmed_up()
                for name, database, left in (("clean", clean, 0), ("parked", beside, parked))
            },
            rounds=sizes.rounds,
        )
    findings.ratio(f"parked_vs_clean{suffix}", measured.ratio("parked", "clean"))
    findings.medians(f"events_per_second.{kind}", measured)
    return findings


def _park_at_once(database: BenchDatabase, rows: int) -> float:
    """Return the seconds of a round that makes dead letters of what all others wait behind."""
    refill(database, Rows(count=rows, aggregates=_STUCK, prefix="stuck"))
    relay = OutboxRelay(store=database.store(), publisher=Rejecting())
    logging.disable()  # of what is rejected here a person is to hear nothing
    started = time.perf_counter()
    try:
        done = relay.run_once()
    finally:
        logging.disable(logging.NOTSET)
    seconds = time.perf_counter() - started
    if done.dead != _STUCK or relay.run_once().claimed:
        raise BenchError(f"not everything is parked behind {_STUCK} dead letters: {done}")
    return seconds


def _park_what_is_met(database: BenchDatabase, sizes: Sizes) -> float:
    """Return the seconds until a backlog is sent that comes after rows behind dead letters."""
    stuck = Rows(count=_STUCK, prefix="stuck", status="FAILED", age_seconds=_LONG_AGO_SECONDS)
    waiting = Rows(
        count=sizes.parked,
        aggregates=_STUCK,
        prefix="waiting",
        of="stuck",
        age_seconds=_LONG_AGO_SECONDS,
    )
    refill(database, stuck, waiting, Rows(count=sizes.backlog))
    seconds = relay_drains(database)(sizes.backlog)
    database.check_all_sent(but=_STUCK + sizes.parked)
    while database.store().tidy():
        pass
    return seconds


def _history(kind: str, suffix: str, sizes: Sizes) -> Findings:
    """Measure beside rows of the same aggregates that were SENT a day ago."""
    findings = Findings()
    history = Rows(
        count=sizes.million,
        aggregates=sizes.backlog,
        prefix="history",
        of="order",
        status="SENT",
        age_seconds=24 * 60 * 60,
    )
    with ExitStack() as stack:
        empty = stack.enter_context(bench_database(kind))
        beside = stack.enter_context(bench_database(kind))
        fill(beside, history)
        contenders: dict[str, Contender] = {}
        for name, database, begin in (
            ("empty", empty, empty.empty),
            ("sent", beside, lambda: None),
        ):
            for what, work in (("claims", _claims(database)), ("drain", relay_drains(database))):
                contenders[f"{name}_{what}"] = Backlog(
                    database=database, count=sizes.backlog, work=work, begin=begin
                ).warmed_up()
        measured = in_turn(contenders, rounds=sizes.rounds)
    for key, what in (("sent_1m_vs_empty", "claims"), ("sent_1m_vs_empty_drain", "drain")):
        findings.ratio(f"{key}{suffix}", measured.ratio(f"sent_{what}", f"empty_{what}"))
    findings.medians(f"events_per_second.{kind}", measured)
    return findings


def _claims(database: BenchDatabase) -> Callable[[int], float]:
    """Return what claims and marks rows, and says how many seconds the claims have taken."""
    store = database.store()

    def claim(rows: int) -> float:
        seconds = 0.0
        while rows > 0:
            started = time.perf_counter()
            claimed = store.claim_pending(batch_size=_BATCH, lease=_LEASE)
            seconds += time.perf_counter() - started
            rows -= store.mark_sent([Delivered(claimed=one, receipt=RECEIPT) for one in claimed])
        return seconds

    return claim


def _stale_statistics(kind: str, suffix: str, sizes: Sizes) -> Findings:
    """Measure where the database believes that the table is as empty as it once was."""
    findings = Findings()
    with ExitStack() as stack:
        fresh = stack.enter_context(bench_database(kind))
        stale = stack.enter_context(bench_database(kind))
        with stale.engine.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {stale.outbox.name} {_NO_STATISTICS[kind]}")
        measured = in_turn(
            {
                name: Backlog(
                    database=database,
                    count=sizes.backlog,
                    work=relay_drains(database),
                    begin=functools.partial(refill, database),
                    put=put,
                ).warmed_up()
                for name, database, put in (("fresh", fresh, fill), ("stale", stale, insert))
            },
            rounds=sizes.rounds,
        )
    ratio = measured.ratio("stale", "fresh")
    findings.ratio(f"stale_statistics_vs_fresh{suffix}", ratio)
    return findings


def _held_snapshot(sizes: Sizes) -> Findings:
    """Measure while a transaction of PostgreSQL keeps every row version alive that it could see."""
    findings = Findings()
    with bench_database("postgresql") as database:

        def held() -> AbstractContextManager[object]:
            return _snapshot(database)

        drain = relay_drains(database)
        measured = in_turn(
            {
                f"{name}{hot}": Backlog(
                    database=database,
                    count=sizes.backlog,
                    work=drain,
                    begin=database.empty,
                    aggregates=aggregates,
                    beside=beside,
                ).warmed_up()
                for name, beside in (("free", nullcontext), ("held", held))
                for hot, aggregates in (("", None), ("_hot_1", 1))
            },
            rounds=sizes.rounds,
        )
    for hot in ("", "_hot_1"):
        ratio = measured.ratio(f"held{hot}", f"free{hot}")
        findings.ratio(f"held_snapshot_vs_none{hot}", ratio)
    return findings


@contextmanager
def _snapshot(database: BenchDatabase) -> Iterator[None]:
    with database.engine.connect() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        connection.exec_driver_sql(f"SELECT count(*) FROM {database.outbox.name}")
        yield
        connection.rollback()
