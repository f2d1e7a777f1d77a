"""A broker that is killed under an outbox, and comes back: nothing lost, nothing overtaken."""

import datetime as dt
import threading
from collections import defaultdict
from pathlib import Path

import pytest

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from tests.adapters.kafka.shop import (
    OrderPaid,
    Topics,
    a_stored_event,
    an_event_manager,
    headers,
    unique,
    wait_until,
)
from tests.databases import outbox_database, sqlite_engine
from tests.services.service import Service

pytestmark = pytest.mark.service("kafka")

AGGREGATES = 20
EVENTS = 30
QUICK = OutboxRelayConfig(
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=200),
    batch_size=60,
)


@pytest.mark.timeout(300)
def test_every_event_arrives_in_order_though_the_broker_is_killed(
    own_broker: Service, tmp_path: Path
) -> None:
    topics, topic, group = Topics(own_broker.url), unique("events"), unique("shop")
    topics.create(topic, f"{group}-dead-letter")
    messages = [
        a_stored_event(
            aggregate_id=f"order-{of}",
            message_id=f"order-{of}/{number}",
            aggregate_version=number + 1,
            event_index=0,
            payload=b'{"aggregate_id": "order-%d", "total": %d}' % (of, number),
        )
        for number in range(EVENTS)
        for of in range(AGGREGATES)
    ]
    handled: list[tuple[str, int]] = []
    manager = an_event_manager(topic, bootstrap_servers=own_broker.url, consumer_group=group)
    manager.register_subscriber(
        "stock", OrderPaid, lambda event: handled.append((event.aggregate_id, event.total))
    )
    with outbox_database(sqlite_engine(tmp_path)) as database, manager:
        store = database.store()
        store.store(messages)

        def publish() -> None:
            # A relay of its own for each round: none remembers the outage, and waits for its probe.
            OutboxRelay(store=store, publisher=manager, config=QUICK).run_once()

        def is_all_sent() -> bool:
            publish()
            backlog = store.backlog()
            return (backlog.pending, backlog.processing, backlog.failed) == (0, 0, 0)

        publish()
        killing = threading.Thread(target=own_broker.kill)
        killing.start()
        publish()
        killing.join()
        publish()  # nobody is there
        own_broker.start()
        wait_until(is_all_sent, store.backlog)
        ids = {message.message_id for message in messages}
        wait_until(lambda: len(set(handled)) == len(ids), lambda: len(set(handled)))

    arrived = [headers(message)["ce_id"] for message in topics.read(topic)]
    assert set(arrived) == ids
    assert len(arrived) - len(ids) <= 2 * QUICK.batch_size  # what was under way when it was killed
    by_aggregate = defaultdict(list)
    for aggregate_id, number in handled:
        by_aggregate[aggregate_id].append(number)
    for numbers in by_aggregate.values():
        assert list(dict.fromkeys(numbers)) == list(range(EVENTS))
    for of in range(AGGREGATES):
        lie = [one for one in arrived if one.startswith(f"order-{of}/")]
        assert list(dict.fromkeys(lie)) == [f"order-{of}/{number}" for number in range(EVENTS)]
