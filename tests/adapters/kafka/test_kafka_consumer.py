"""Consuming from a real broker: pauses, dead letters, and the end."""

import datetime as dt
import threading
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.subscribers import Delivery
from pragmatic_ddd_kafka import KafkaEventManager
from tests.adapters.kafka.shop import (
    OrderPaid,
    an_event_manager,
    headers,
    unique,
    values,
    wait_until,
)
from tests.adapters.kafka.stage import Stage

pytestmark = pytest.mark.service("kafka")

SECOND = dt.timedelta(seconds=1)


def test_what_is_handled_is_committed(stage: Stage) -> None:
    stage.join()
    stage.publish([f"order-{number}" for number in range(10)], range(10))
    stage.recorded.wait_for(100)

    wait_until(lambda: stage.committed() == 100, stage.committed)

    assert len(stage.recorded.calls) == 100


def test_a_commit_says_under_which_leader_its_event_was_stored(stage: Stage) -> None:
    """So that a consumer that comes later sees whether another leader has lost it."""
    stage.join()
    stage.publish(["order-1"], range(3))

    wait_until(lambda: stage.committed() == 3, stage.committed)

    (last,) = (each for each in stage.topics.read(stage.topic) if each.offset() == 2)
    place = TopicPartition(stage.topic, last.partition() or 0)
    reader = Consumer({"bootstrap.servers": stage.topics.servers, "group.id": stage.group})
    (committed,) = reader.committed([place], timeout=10)
    reader.close()
    assert last.leader_epoch() is not None
    assert committed.leader_epoch == last.leader_epoch()


def test_a_shutdown_commits_what_is_handled(stage: Stage) -> None:
    manager = stage.join(before=lambda _: time.sleep(0.002))
    stage.publish(["order-1"], range(500))
    stage.recorded.wait_for(100)

    manager.shutdown()

    assert stage.committed() == len(stage.recorded.calls) < 500
    stage.join("b")
    stage.recorded.wait_for(500)
    assert stage.recorded.numbers()["order-1"] == list(range(500))


def test_a_poisonous_event_becomes_a_dead_letter_and_its_successors_go_on(stage: Stage) -> None:
    tries: list[int] = []

    def refuse_the_second(event: OrderPaid) -> None:
        tries.append(event.total)
        if event.total == 1:
            raise ValueError("out of stock: Größe\n\N{GRINNING FACE}")

    stage.join("a", refuse_the_second, max_attempts=3)
    stage.publish(["order-1"], range(4))
    stage.recorded.wait_for(3)

    assert tries == [0, 1, 1, 1, 2, 3]
    (letter,) = stage.topics.read(f"{stage.group}-dead-letter")
    original = stage.topics.read(stage.topic)[1]
    said = headers(letter)
    assert (letter.key(), letter.value()) == (original.key(), original.value())
    assert headers(original).items() <= said.items()
    assert said["dead_letter_topic"] == stage.topic
    assert said["dead_letter_partition"] == str(original.partition())
    assert said["dead_letter_offset"] == "1"
    assert said["dead_letter_attempts"] == "3"
    assert "out of stock: Größe \N{GRINNING FACE}" in said["dead_letter_error"]
    assert dt.datetime.fromisoformat(said["dead_letter_at"]).tzinfo is not None


def test_an_event_is_kept_as_long_as_there_is_no_topic_for_dead_letters(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    group = unique("shop")

    def refuse_the_first(event: OrderPaid) -> None:
        if event.total == 0:
            raise ValueError("never")

    stage.join("a", refuse_the_first, consumer_group=group, max_attempts=1)
    stage.publish(["order-1"], range(2))
    wait_until(lambda: "could not be made a dead letter" in caplog.text)
    assert stage.recorded.calls == []

    stage.topics.create(f"{group}-dead-letter")

    stage.recorded.wait_for(1)
    assert len(stage.topics.read(f"{group}-dead-letter")) == 1


def test_a_dead_letter_may_be_handled_and_die_again(stage: Stage) -> None:
    def refuse(_: OrderPaid) -> None:
        raise ValueError("never")

    letters, repair = f"{stage.group}-dead-letter", unique("repair")
    stage.topics.create(f"{repair}-dead-letter")
    stage.join("a", refuse, max_attempts=1)
    stage.publish(["order-1"], range(1))
    wait_until(lambda: len(stage.topics.read(letters)) == 1)

    mending = an_event_manager(letters, consumer_group=repair, max_attempts=1)
    mending.register_subscriber("stock", OrderPaid, stage.recorded.by("repair", refuse))
    with mending:
        wait_until(lambda: len(stage.topics.read(f"{repair}-dead-letter")) == 1)

    (letter,) = stage.topics.read(f"{repair}-dead-letter")
    assert headers(letter)["dead_letter_topic"] == letters
    assert len(letter.headers() or []) == len(headers(letter))  # none of them twice


def test_a_delayed_copy_lies_on_the_group_s_own_topic(stage: Stage) -> None:
    manager = an_event_manager(stage.topic, consumer_group=stage.group, delay=SECOND)
    handler = stage.recorded.by("later")
    manager.register_subscriber("later", OrderPaid, handler, delivery=Delivery.DELAYED)
    with manager:
        stage.publish(["order-1"], range(3))
        stage.recorded.wait_for(3)

    copies = stage.topics.read(f"{stage.group}-delay")
    assert values(copies) == values(stage.topics.read(stage.topic))
    assert {headers(copy)["ce_consumergroup"] for copy in copies} == {stage.group}
    assert {headers(copy)["ce_subscriber"] for copy in copies} == {"later"}
    assert stage.recorded.numbers()["order-1"] == [0, 1, 2]


def test_a_topic_that_does_not_exist_yet_is_found(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    topic = unique("later")
    quickly = ("topic.metadata.refresh.interval.ms=1000",)
    manager = an_event_manager(topic, consumer_group=stage.group, client_settings=quickly)
    manager.register_subscriber("stock", OrderPaid, stage.recorded.by("a"))
    stage.events = manager
    with manager:
        wait_until(lambda: topic in caplog.text)
        stage.topics.create(topic)
        stage.publish(["order-1"], range(1))
        stage.recorded.wait_for(1)

    assert caplog.text.count("Subscribed topic not available") == 1


def test_a_handler_may_shut_its_manager_down(stage: Stage) -> None:
    managers: list[KafkaEventManager] = []
    managers.append(stage.join("a", lambda _: managers[0].shutdown()))
    stage.publish(["order-1"], range(3))

    wait_until(lambda: stage.committed() == 1)
    assert len(stage.recorded.calls) == 1


def test_a_handler_that_never_ends_does_not_hold_up_the_end(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    go_on, has_begun = threading.Event(), threading.Event()

    def hang(_: OrderPaid) -> None:
        has_begun.set()
        go_on.wait()

    manager = stage.join("a", hang, shutdown_timeout=SECOND)
    (consumer,) = manager._consumers
    stage.publish(["order-1"], range(2))
    assert has_begun.wait(30)
    begun = time.monotonic()

    manager.shutdown()

    assert time.monotonic() - begun < 10
    assert "still at work" in caplog.text
    stage.join("b")
    wait_until(lambda: stage.recorded.numbers("b")["order-1"] == [0, 1])
    go_on.set()
    wait_until(lambda: stage.recorded.numbers("a")["order-1"] == [0])
    wait_until(lambda: consumer._thread is not None and not consumer._thread.is_alive())


def test_a_group_may_begin_at_the_end(stage: Stage) -> None:
    stage.publish(["order-1"], range(3))
    stage.join("a", auto_offset_reset="latest")

    def is_heard() -> bool:
        stage.publish(["order-1"], [7])
        return bool(stage.recorded.calls)

    wait_until(is_heard)
    assert set(stage.recorded.numbers()["order-1"]) == {7}


def test_subscribers_need_a_consumer_group(topic: str) -> None:
    manager = an_event_manager(topic)
    manager.register_subscriber("stock", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=r"kafka\.consumer-group"):
        manager.start()
