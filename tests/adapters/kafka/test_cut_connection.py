"""Connections that are cut while records and answers are under way."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_kafka import KafkaEventManager
from tests.adapters.kafka.gated_broker import GatedBroker
from tests.adapters.kafka.shop import (
    OrderPaid,
    Topics,
    a_stored_event,
    an_event_manager,
    headers,
    unique,
    wait_until,
)

pytestmark = pytest.mark.service("kafka")

ROUNDS = 12
AGGREGATES = [f"order-{number}" for number in range(20)]


@pytest.fixture
def topics(gated: GatedBroker) -> Topics:
    return Topics(gated.url)


@pytest.fixture
def manager(gated: GatedBroker, topic: str) -> Iterator[KafkaEventManager]:
    with an_event_manager(topic, bootstrap_servers=gated.url) as manager:
        manager.publish_stored(a_stored_event(event_type="shop.warm-up"))
        yield manager


def events(number: int) -> list[OutboxMessage]:
    """Return the event with that number of each aggregate."""
    return [
        a_stored_event(
            aggregate_id=of,
            event_index=number,
            message_id=f"{of}/{number}",
            payload=b'{"aggregate_id": "%s", "total": %d}' % (of.encode(), number),
        )
        for of in AGGREGATES
    ]


def publish(manager: KafkaEventManager, messages: list[OutboxMessage]) -> int:
    """Publish messages until each is confirmed, as an outbox does; return how many tries failed."""
    failed, waiting = 0, messages
    while waiting:
        answers = manager.publish_many(waiting)
        pairs = zip(waiting, answers, strict=True)
        waiting = [message for message, answer in pairs if not isinstance(answer, Receipt)]
        failed += len(waiting)
    return failed


def lying(topics: Topics, topic: str) -> dict[str, list[int]]:
    """Return by aggregate the numbers of the events that lie on a topic."""
    found: dict[str, list[int]] = defaultdict(list)
    for message in topics.read(topic):
        said = headers(message)
        if said["ce_type"] == "shop.order.paid":
            found[said["ce_subject"]].append(int(said["ce_eventindex"]))
    return found


def test_what_was_stored_though_its_answer_was_lost_is_stored_once(
    gated: GatedBroker,
    manager: KafkaEventManager,
    topics: Topics,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ThreadPoolExecutor(1) as thread:
        with gated.gate.answering(at_most_bytes=0):
            sending = thread.submit(manager.publish_many, events(0))
            wait_until(lambda: "brokers are down" in caplog.text, lambda: caplog.text)
        answers = sending.result()

    assert {type(answer) for answer in answers} == {Receipt}
    assert lying(topics, topic) == {of: [0] for of in AGGREGATES}


@pytest.mark.timeout(120)
def test_nothing_is_lost_or_overtaken_while_connections_are_cut(
    gated: GatedBroker, manager: KafkaEventManager, topics: Topics, topic: str
) -> None:
    is_over = threading.Event()

    def cut_now_and_then() -> None:
        bytes_of_answers = 300
        while not is_over.wait(0.05):
            gated.gate.cut()
            with gated.gate.answering(at_most_bytes=bytes_of_answers):
                is_over.wait(0.05)
            bytes_of_answers = (bytes_of_answers + 170) % 1000
            is_over.wait(0.3)

    cutting = threading.Thread(target=cut_now_and_then)
    cutting.start()
    try:
        failed = sum(publish(manager, events(number)) for number in range(ROUNDS))
    finally:
        is_over.set()
        cutting.join()

    found = lying(topics, topic)
    for of in AGGREGATES:
        assert list(dict.fromkeys(found[of])) == list(range(ROUNDS))
        assert found[of] == sorted(found[of])
    assert sum(map(len, found.values())) <= ROUNDS * len(AGGREGATES) + failed


@pytest.mark.timeout(120)
def test_consumers_go_on_after_cuts_and_skip_nothing(
    gated: GatedBroker, manager: KafkaEventManager, topics: Topics, topic: str
) -> None:
    group = unique("shop")
    topics.create(f"{group}-dead-letter")
    handled: list[tuple[str, int]] = []

    def record(event: OrderPaid) -> None:
        handled.append((event.aggregate_id, event.total))
        if len(handled) % 50 == 0:
            gated.gate.cut()

    consuming = an_event_manager(topic, bootstrap_servers=gated.url, consumer_group=group)
    consuming.register_subscriber("stock", OrderPaid, record)
    with consuming:
        for number in range(20):
            publish(manager, events(number))
        with gated.gate.answering(at_most_bytes=0):
            count = len(handled)
        wait_until(lambda: len(set(handled)) == 20 * len(AGGREGATES), lambda: (count, len(handled)))

        wait_until(
            lambda: sum(topics.committed(group, topic).values()) == len(topics.read(topic)),
            lambda: topics.committed(group, topic),
        )
    for of in AGGREGATES:
        numbers = [number for who, number in handled if who == of]
        assert list(dict.fromkeys(numbers)) == list(range(20))
