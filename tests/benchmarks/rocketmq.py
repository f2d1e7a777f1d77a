"""Sending to a real broker: the relay beside a loop over the bare client.

Both send the same events to one topic, from as many threads, each aggregate's in order. The loop
has them in memory, and keeps what the broker answers there.
"""

import datetime as dt
import secrets
import tempfile
import time
from contextlib import ExitStack

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_rocketmq import RocketMqConfig, RocketMqEventManager
from tests import servers
from tests.benchmarks.counting import Counting
from tests.benchmarks.databases import BenchDatabase, bench_database
from tests.benchmarks.fill import Rows, refill
from tests.benchmarks.findings import Findings
from tests.benchmarks.handwritten_rocketmq import HandwrittenRocketMq
from tests.benchmarks.measurement import Contender, in_turn
from tests.benchmarks.orders import OrderChanged
from tests.services.admin import create_topic

_AGGREGATES = 500
_WARM_UP = 5_000  # brokers that have just been started compile what they do often


def run(*, quick: bool) -> Findings:
    """Measure with the outbox on PostgreSQL."""
    rows = 2_000 if quick else 10_000
    findings = Findings()
    with ExitStack() as stack:
        topic = f"bench-{secrets.token_hex(6)}"
        create_topic(topic)
        logs = stack.enter_context(tempfile.TemporaryDirectory())
        events = stack.enter_context(_event_manager(topic, logs))
        library = servers.rocketmq_library()
        by_hand = stack.enter_context(
            HandwrittenRocketMq.on(topic, library=library, threads=events.side_by_side)
        )
        database = stack.enter_context(bench_database("postgresql"))
        measured = in_turn(
            {
                "relay": _relay(database, events, rows),
                "bare": _bare(database, by_hand, rows),
            },
            rounds=3 if quick else 9,
        )
    findings.ratio("rocketmq_vs_bare", measured.ratio("relay", "bare"))
    findings.medians("events_per_second.rocketmq", measured)
    return findings


def _event_manager(topic: str, logs: str) -> RocketMqEventManager:
    library = servers.rocketmq_library()
    config = RocketMqConfig(
        name_server=servers.rocketmq_name_server(),
        library=None if library is None else str(library),
        log_folder=logs,
    )
    topics = ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))
    serializer = OrjsonEventSerializer(EventTypeRegistry(OrderChanged))
    return RocketMqEventManager(config, serializer, topics)


def _relay(database: BenchDatabase, events: RocketMqEventManager, rows: int) -> Contender:
    store = database.store()

    def measure(count: int = rows) -> float:
        refill(database, Rows(count=count, aggregates=_AGGREGATES))
        publisher = Counting(events, count)
        relay = OutboxRelay(store=store, publisher=publisher)
        publisher.when_done = relay.stop
        started = time.perf_counter()
        relay.run()
        rate = count / (time.perf_counter() - started)
        database.check_all_sent()
        return rate

    measure(_WARM_UP)
    return measure


def _bare(database: BenchDatabase, by_hand: HandwrittenRocketMq, rows: int) -> Contender:
    refill(database, Rows(count=rows, aggregates=_AGGREGATES))
    claimed = database.store().claim_pending(batch_size=rows, lease=dt.timedelta(minutes=1))
    messages = [one.message for one in claimed]
    by_hand.send(messages[:1])  # alone: side by side, the client fails most of the first ones
    by_hand.send(messages[:_WARM_UP])
    return lambda: rows / by_hand.send(messages)
