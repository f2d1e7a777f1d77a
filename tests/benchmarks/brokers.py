"""Sending to real brokers: the relay beside a loop over the bare client, and a relay by hand.

    broker_vs_bare          the relay ÷ a loop that has the events in memory and keeps their order
    broker_vs_handwritten   the relay ÷ a loop that claims, sends by the bare client and marks

Where the client needs an environment of its own, a process of that environment measures.
"""

import datetime as dt
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack

from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.acceptance.brokers.broker import Lane
from tests.acceptance.brokers.catalogue import broker
from tests.benchmarks.bare_client import IBareClient, bare_client, send_in_order
from tests.benchmarks.counting import counting
from tests.benchmarks.databases import BenchDatabase, BenchError, bench_database
from tests.benchmarks.fill import Rows, refill
from tests.benchmarks.findings import Findings
from tests.benchmarks.handwritten_postgresql import HandwrittenPostgreSql
from tests.benchmarks.measurement import Contender, in_turn
from tests.benchmarks.orders import OrderChanged
from tests.benchmarks.quiet_machine import DATABASES, leave_running

BROKERS = ("kafka", "rabbitmq", "redis", "rocketmq_grpc")

_AGGREGATES = 500
_WARM_UP = 5_000  # brokers that have just been started compile what they do often


def run(*, quick: bool) -> Findings:
    """Measure each broker with the outbox on PostgreSQL."""
    findings = Findings()
    for name in BROKERS:
        leave_running(*DATABASES, *broker(name).services)
        findings.add(_measured_elsewhere(name, quick=quick))
    return findings


def measure(name: str, *, quick: bool) -> Findings:
    """Measure one broker in this process."""
    rows = 2_000 if quick else 10_000
    topic = f"bench-{secrets.token_hex(6)}"
    used = broker(name)
    used.create_topic(topic)
    findings = Findings()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        serializer = OrjsonEventSerializer(EventTypeRegistry(OrderChanged))
        events = used.events(Lane(topic=topic, folder=folder), serializer, NoMetrics())
        stack.enter_context(events)
        bare, width = bare_client(name, topic)
        client = stack.enter_context(bare)
        database = stack.enter_context(bench_database("postgresql"))
        by_hand = stack.enter_context(HandwrittenPostgreSql.on(database))
        measured = in_turn(
            {
                "relay": _relay(database, events, rows),
                "bare": _bare(database, client, width, rows),
                "handwritten": _handwritten(database, by_hand, client, width, rows),
            },
            rounds=3 if quick else 5,
        )
    findings.ratio(f"broker_vs_bare.{name}", measured.ratio("relay", "bare"))
    findings.ratio(f"broker_vs_handwritten.{name}", measured.ratio("relay", "handwritten"))
    findings.medians(f"events_per_second.{name}", measured)
    return findings


def _measured_elsewhere(name: str, *, quick: bool) -> Findings:
    command = [
        str(broker(name).python),
        "-m",
        "tests.benchmarks.brokers",
        name,
        *["--quick"] * quick,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{name} could not be measured: exit {done.returncode}")
    return Findings(**json.loads(done.stdout.splitlines()[-1]))


def _relay(database: BenchDatabase, events: IEventManager, rows: int) -> Contender:
    store = database.store()

    def measured(count: int = rows) -> float:
        refill(database, Rows(count=count, aggregates=_AGGREGATES))
        publisher = counting(events, count)
        relay = OutboxRelay(store=store, publisher=publisher)
        publisher.when_done = relay.stop
        started = time.perf_counter()
        relay.run()
        rate = count / (time.perf_counter() - started)
        database.check_all_sent()
        return rate

    measured(_WARM_UP)
    return measured


def _bare(database: BenchDatabase, client: IBareClient, width: int, rows: int) -> Contender:
    refill(database, Rows(count=rows, aggregates=_AGGREGATES))
    claimed = database.store().claim_pending(batch_size=rows, lease=dt.timedelta(minutes=1))
    messages = [one.message for one in claimed]
    send_in_order(client, messages[:_WARM_UP], width=width)

    def measured() -> float:
        started = time.perf_counter()
        send_in_order(client, messages, width=width)
        return rows / (time.perf_counter() - started)

    return measured


def _handwritten(
    database: BenchDatabase,
    by_hand: HandwrittenPostgreSql,
    client: IBareClient,
    width: int,
    rows: int,
) -> Contender:
    def measured() -> float:
        refill(database, Rows(count=rows, aggregates=_AGGREGATES))
        seconds = by_hand.drain_in_order(
            rows, lambda messages: send_in_order(client, messages, width=width)
        )
        database.check_all_sent()
        return rows / seconds

    return measured


def main(arguments: Iterable[str]) -> int:
    """Measure one broker, and print the findings as the last line."""
    name, *options = arguments
    findings = measure(name, quick="--quick" in options)
    print(
        json.dumps(
            {"figures": findings.figures, "spread": findings.spread, "rates": findings.rates}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
