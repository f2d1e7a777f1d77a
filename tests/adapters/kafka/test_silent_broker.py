"""A broker that is frozen: calls within their bound, and nothing comes out of its turn later."""

import datetime as dt
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus, Receipt
from pragmatic_ddd_kafka import KafkaEventManager
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

TIMEOUT = dt.timedelta(seconds=1)
TOLERANCE_SECONDS = 0.5
NO_RECEIPT = (EventUnconfirmedError, BrokerUnavailableError)


@pytest.fixture
def topics(own_broker: Service) -> Topics:
    return Topics(own_broker.url)


@pytest.fixture
def manager(own_broker: Service, topic: str) -> Iterator[KafkaEventManager]:
    with an_event_manager(topic, bootstrap_servers=own_broker.url, send_timeout=TIMEOUT) as manager:
        wait_until(lambda: is_sent(manager, a_stored_event(aggregate_id="warm-up")))
        yield manager


@contextmanager
def frozen(broker: Service) -> Iterator[None]:
    process = broker.process
    assert process is not None
    process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send(signal.SIGCONT)


def is_sent(manager: KafkaEventManager, message: OutboxMessage) -> bool:
    (answer,) = manager.publish_many([message])
    return isinstance(answer, Receipt)


def test_each_of_many_threads_gets_its_answer_within_the_longest_call(
    manager: KafkaEventManager, own_broker: Service
) -> None:
    def send(number: int) -> float:
        begun = time.monotonic()
        with pytest.raises(NO_RECEIPT):
            manager.publish_stored(a_stored_event(aggregate_id=str(number)))
        return time.monotonic() - begun

    with frozen(own_broker), ThreadPoolExecutor(8) as threads:
        longest = max(threads.map(send, range(24)))

    assert longest <= manager.longest_call.total_seconds() + TOLERANCE_SECONDS


def test_many_messages_get_their_answers_within_the_longest_call(
    manager: KafkaEventManager, own_broker: Service
) -> None:
    messages = [a_stored_event(aggregate_id=str(number)) for number in range(200)]

    with frozen(own_broker):
        begun = time.monotonic()
        answers = manager.publish_many(messages)
        took = time.monotonic() - begun

    assert took <= manager.longest_call.total_seconds() + TOLERANCE_SECONDS
    assert {type(answer) for answer in answers} <= set(NO_RECEIPT)
    assert [answer.event_id for answer in answers if isinstance(answer, NO_RECEIPT)] == [
        message.message_id for message in messages
    ]


def test_what_was_given_up_overtakes_nothing_when_the_broker_goes_on(
    manager: KafkaEventManager, own_broker: Service, topics: Topics, topic: str
) -> None:
    """Each event is published until it is confirmed, and only then its successor."""
    aggregates = [f"order-{number}" for number in range(40)]

    def events(number: int) -> list[OutboxMessage]:
        return [
            a_stored_event(aggregate_id=of, event_index=number, message_id=f"{of}/{number}")
            for of in aggregates
        ]

    def publish(messages: list[OutboxMessage]) -> None:
        waiting = list(messages)
        while waiting:
            answers = manager.publish_many(waiting)
            waiting = [
                message
                for message, answer in zip(waiting, answers, strict=True)
                if not isinstance(answer, Receipt)
            ]

    publish(events(0))
    for number in (1, 2):
        with frozen(own_broker):
            for _ in range(2):
                manager.publish_many(events(number))
        publish(events(number))
    publish(events(3))

    arrived = defaultdict(list)
    for message in topics.read(topic):
        said = headers(message)
        arrived[said["ce_subject"]].append(int(said["ce_eventindex"]))
    for of in aggregates:
        assert list(dict.fromkeys(arrived[of])) == [0, 1, 2, 3]
        assert arrived[of] == sorted(arrived[of])


def test_what_is_still_in_the_client_when_a_call_ends_is_never_sent(
    manager: KafkaEventManager, own_broker: Service, topics: Topics, topic: str
) -> None:
    """The client's own timeout is out of reach here, so that the call ends first."""
    producer = manager._producer
    assert producer is not None
    slow = {**producer.properties, "message.timeout.ms": 60_000, "request.timeout.ms": 60_000}
    with an_event_manager(topic, bootstrap_servers=own_broker.url, send_timeout=TIMEOUT) as other:
        assert other._producer is not None
        other._producer.close(within=TIMEOUT)
        other._producer = attrs.evolve(producer, properties=slow)
        other._producer.start()
        assert is_sent(other, a_stored_event(aggregate_id="warm-up"))
        process = own_broker.process
        assert process is not None
        own_broker.kill()
        begun = time.monotonic()

        answers = other.publish_many(
            [a_stored_event(aggregate_id=str(number)) for number in range(20)]
        )

        assert time.monotonic() - begun <= other.longest_call.total_seconds() + TOLERANCE_SECONDS
        assert {type(answer) for answer in answers} <= set(NO_RECEIPT)
        own_broker.start()
        wait_until(lambda: is_sent(other, a_stored_event(aggregate_id="last")))

    subjects = {headers(message)["ce_subject"] for message in topics.read(topic)}
    assert subjects == {"warm-up", "last"}


def test_a_shutdown_beside_a_send_that_hangs_is_bounded(
    manager: KafkaEventManager, own_broker: Service
) -> None:
    def send() -> None:
        with pytest.raises(NO_RECEIPT):
            manager.publish_stored(a_stored_event())

    producer = manager._producer
    assert producer is not None
    with frozen(own_broker), ThreadPoolExecutor(1) as thread:
        sending = thread.submit(send)
        wait_until(lambda: producer._in_flight)
        begun = time.monotonic()
        manager.shutdown()
        assert time.monotonic() - begun < 10
        sending.result(5)

    with pytest.raises(BrokerUnavailableError, match="shut down"):
        manager.publish_stored(a_stored_event())


def test_a_shutdown_of_many_consumers_is_as_short_as_that_of_one(
    own_broker: Service, topics: Topics, topic: str
) -> None:
    group = unique("shop")
    topics.create(f"{group}-dead-letter")
    manager = an_event_manager(
        topic,
        bootstrap_servers=own_broker.url,
        consumer_group=group,
        consumer_threads=3,
        shutdown_timeout=TIMEOUT,
        send_timeout=TIMEOUT,
    )
    handled: list[str] = []
    manager.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.event_id))
    with manager:
        wait_until(lambda: is_sent(manager, a_stored_event()))
        wait_until(lambda: handled)
        with frozen(own_broker):
            begun = time.monotonic()
            manager.shutdown()
            assert time.monotonic() - begun < 12


def test_a_relay_counts_no_attempt_while_the_broker_is_frozen(
    manager: KafkaEventManager, own_broker: Service, tmp_path: Path
) -> None:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        store = database.store()
        stored = [a_stored_event(aggregate_id=str(number)) for number in range(20)]
        store.store(stored)
        relay = OutboxRelay(
            store=store, publisher=manager, config=OutboxRelayConfig(max_attempts=1)
        )

        with frozen(own_broker):
            done = relay.run_once()

        assert (done.sent, done.dead, done.claimed) == (0, 0, 20)
        for message in stored:
            entry = store.find(message.message_id)
            assert entry is not None
            assert (entry.status, entry.attempts) == (OutboxStatus.PENDING, 0)
