"""Draining a backlog: the relay beside loops written by hand, and beside itself on hot keys."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from pragmatic_ddd.application.outbox.relay import OutboxRelay
from tests.benchmarks.databases import BenchDatabase, bench_database
from tests.benchmarks.fill import Rows, refill
from tests.benchmarks.findings import Findings
from tests.benchmarks.handwritten_mariadb import HandwrittenMariaDb
from tests.benchmarks.handwritten_postgresql import HandwrittenPostgreSql
from tests.benchmarks.measurement import Contender, in_turn
from tests.benchmarks.publisher import NoPublisher

_ROUNDS = 5
_WARM_UP = 1_000

_Loop = Callable[[int], float]


def run(*, quick: bool) -> Findings:
    """Measure on each database, on PostgreSQL also with every commit on disk."""
    rows = 6_000 if quick else 20_000
    rounds = 3 if quick else _ROUNDS
    findings = Findings()
    findings.add(_postgresql(rows, rounds))
    findings.add(_postgresql_synchronous(rows, rounds))
    findings.add(_mariadb(rows, rounds))
    findings.add(_sqlite(rows, rounds))
    return findings


def relay_drains(database: BenchDatabase) -> _Loop:
    """Return what drains a number of rows as a service does, and says how long it took.

    A relay that runs does everything that it always does: it tidies and measures the backlog,
    too. It is asked to stop with the last message, and returns once all are marked.
    """
    store = database.store()

    def drain(rows: int) -> float:
        publisher = NoPublisher(rows)
        relay = OutboxRelay(store=store, publisher=publisher)
        publisher.when_done = relay.stop
        started = time.perf_counter()
        relay.run()
        return time.perf_counter() - started

    return drain


def rate_of(
    drain: _Loop, database: BenchDatabase, rows: int, aggregates: int | None = None
) -> Contender:
    """Return what fills the outbox, has it drained, and returns the rows per second."""

    def measure() -> float:
        refill(database, Rows(count=rows, aggregates=aggregates))
        rate = rows / drain(rows)
        database.check_all_sent()
        return rate

    refill(database, Rows(count=_WARM_UP))
    drain(_WARM_UP)
    return measure


def _postgresql(rows: int, rounds: int) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        database = stack.enter_context(bench_database("postgresql"))
        by_hand = stack.enter_context(HandwrittenPostgreSql.on(database))
        relay = relay_drains(database)
        measured = in_turn(
            {
                "relay": rate_of(relay, database, rows),
                "handwritten": rate_of(by_hand.drain, database, rows),
                "handwritten_in_order": rate_of(by_hand.drain_in_order, database, rows),
                "handwritten_row_by_row": rate_of(by_hand.drain_row_by_row, database, rows // 10),
                "relay_hot_1": rate_of(relay, database, rows, 1),
                "relay_hot_100": rate_of(relay, database, rows, 100),
            },
            rounds=rounds,
        )
    relay_to = {
        "relay_vs_handwritten.postgresql": "handwritten",
        "relay_vs_handwritten_in_order.postgresql": "handwritten_in_order",
    }
    for key, other in relay_to.items():
        findings.ratio(key, measured.ratio("relay", other))
    findings.ratio("hot_1_vs_unique", measured.ratio("relay_hot_1", "relay"))
    findings.ratio("hot_100_vs_unique", measured.ratio("relay_hot_100", "relay"))
    findings.medians("events_per_second.postgresql", measured)
    return findings


def _postgresql_synchronous(rows: int, rounds: int) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        database = stack.enter_context(bench_database("postgresql", synchronous=True))
        by_hand = stack.enter_context(HandwrittenPostgreSql.on(database))
        measured = in_turn(
            {
                "relay": rate_of(relay_drains(database), database, rows),
                "handwritten": rate_of(by_hand.drain, database, rows),
            },
            rounds=rounds,
        )
    ratio = measured.ratio("relay", "handwritten")
    findings.ratio("relay_vs_handwritten_synchronous.postgresql", ratio)
    findings.medians("events_per_second.postgresql_synchronous", measured)
    return findings


def _mariadb(rows: int, rounds: int) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        database = stack.enter_context(bench_database("mariadb"))
        by_hand = stack.enter_context(HandwrittenMariaDb.on(database))
        relay = relay_drains(database)
        measured = in_turn(
            {
                "relay": rate_of(relay, database, rows),
                "handwritten": rate_of(by_hand.drain, database, rows),
                "handwritten_row_by_row": rate_of(by_hand.drain_row_by_row, database, rows // 10),
                "relay_hot_1": rate_of(relay, database, rows, 1),
                "relay_hot_100": rate_of(relay, database, rows, 100),
            },
            rounds=rounds,
        )
    findings.ratio("relay_vs_handwritten.mariadb", measured.ratio("relay", "handwritten"))
    for hot in ("hot_1", "hot_100"):
        ratio = measured.ratio(f"relay_{hot}", "relay")
        findings.ratio(f"hot_vs_unique_mariadb.{hot}", ratio)
    findings.medians("events_per_second.mariadb", measured)
    return findings


def _sqlite(rows: int, rounds: int) -> Findings:
    findings = Findings()
    with bench_database("sqlite") as database:
        relay = rate_of(relay_drains(database), database, rows)
        measured = in_turn({"relay": relay}, rounds=rounds)
    findings.medians("events_per_second.sqlite", measured)
    return findings
