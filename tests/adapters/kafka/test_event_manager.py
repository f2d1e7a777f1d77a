"""The event manager against a real broker: what the contracts do not ask."""

import datetime as dt
import logging

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventRejectedError,
)
from pragmatic_ddd.ports import IPipelinedEventPublisher, Receipt
from pragmatic_ddd_kafka import KafkaEventManager, KafkaStartError
from tests.adapters.kafka.shop import (
    OrderPaid,
    Topics,
    a_stored_event,
    an_event_manager,
    topics_of,
    unique,
)
from tests.script import needs_fork, run_script

pytestmark = pytest.mark.service("kafka")


def test_it_is_a_pipelined_publisher(events: KafkaEventManager) -> None:
    publisher: IPipelinedEventPublisher = events

    (answer,) = publisher.publish_many([a_stored_event()])

    assert isinstance(answer, Receipt)


def test_a_receipt_names_topic_partition_and_offset(events: KafkaEventManager, topic: str) -> None:
    first = events.publish_stored(a_stored_event()).text
    second = events.publish_stored(a_stored_event()).text

    assert first.startswith(f"{topic}/")
    assert first.endswith("@0")
    assert second == first.replace("@0", "@1")


def test_what_is_wrong_with_one_message_keeps_none_of_the_others(
    events: KafkaEventManager, topic: str
) -> None:
    messages = [
        a_stored_event(aggregate_id="1"),
        a_stored_event(aggregate_id="2", payload=b"x" * 1_000_001),
        a_stored_event(aggregate_id="3\ud800"),
        a_stored_event(aggregate_id="4"),
    ]

    answers = events.publish_many(messages)

    assert [type(answer) for answer in answers] == [
        Receipt,
        EventRejectedError,
        EventRejectedError,
        Receipt,
    ]
    too_large = answers[1]
    assert isinstance(too_large, EventRejectedError)
    assert "1000001 bytes, at most 1000000" in str(too_large)
    assert too_large.topic == topic


def test_the_cause_of_an_error_is_kept(events: KafkaEventManager) -> None:
    events.topics = topics_of(unique("missing"))

    with pytest.raises(EventPublishError, match="UNKNOWN_TOPIC") as caught:
        events.publish_stored(a_stored_event())

    assert caught.value.retryable
    assert caught.value.__cause__ is not None


def test_many_messages_before_the_start_are_each_unavailable(topic: str) -> None:
    manager = an_event_manager(topic)

    answers = manager.publish_many([a_stored_event(aggregate_id=of) for of in ("1", "2")])

    assert [type(answer) for answer in answers] == [BrokerUnavailableError] * 2


def test_the_durability_is_the_one_that_was_chosen(topic: str, topics: Topics) -> None:
    assert an_event_manager(topic).durability.name == "all"
    assert "acks=all" in an_event_manager(topic).durability.sent_means

    with an_event_manager(topic, durability="leader") as weaker:
        assert weaker.durability.name == "leader"
        assert weaker.publish_stored(a_stored_event()).text.endswith("@0")


def test_a_check_at_start_needs_a_broker(topic: str) -> None:
    manager = an_event_manager(topic, bootstrap_servers="127.0.0.1:1", check_at_start=True)

    with pytest.raises(KafkaStartError, match=r"Kafka at 127\.0\.0\.1:1"):
        manager.start()

    manager.config = an_event_manager(topic, check_at_start=True).config
    with manager:
        assert manager.publish_stored(a_stored_event()).text


def test_a_check_at_start_needs_the_topics(topic: str, topics: Topics) -> None:
    group = unique("shop")
    manager = an_event_manager(
        topic, check_at_start=True, consumer_group=group, delay=dt.timedelta(seconds=1)
    )
    manager.register_subscriber("stock", OrderPaid, print)

    with pytest.raises(KafkaStartError, match=f"no topic {group}-dead-letter, {group}-delay,"):
        manager.start()

    topics.create(f"{group}-dead-letter", f"{group}-delay")
    with manager:
        pass


def test_a_setting_that_the_client_refuses_is_named(topic: str) -> None:
    manager = an_event_manager(topic, client_settings=("compression.type=rar",))

    with pytest.raises(ConfigurationError, match=r"compression\.(type|codec)"):
        manager.start()
    with pytest.raises(BrokerUnavailableError):
        manager.publish_stored(a_stored_event())


def test_a_topic_of_kafka_s_own_is_not_published_to(events: KafkaEventManager) -> None:
    events.topics = topics_of("__consumer_offsets")

    with pytest.raises(EventPublishError, match="Kafka's own"):
        events.publish_stored(a_stored_event())


def test_publishing_says_nothing_in_the_log(
    events: KafkaEventManager, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert events.publish_stored(a_stored_event(event_type="another", payload=b"[1]")).text
    assert not caplog.records


@needs_fork
def test_a_manager_that_was_started_before_a_fork_is_refused_and_a_new_one_works(
    topic: str,
) -> None:
    setup = f"""
        import sys
        from pragmatic_ddd.errors import BrokerUnavailableError, InfrastructureError
        from pragmatic_ddd.ports import Receipt
        from tests.adapters.kafka.shop import a_stored_event, an_event_manager
        from tests.forked import exit_codes, in_child
        topic = {topic!r}
    """
    body = """
        manager = an_event_manager(topic)
        manager.start()
        print(manager.publish_stored(a_stored_event()).text)

        def in_the_child():
            try:
                manager.publish_stored(a_stored_event())
            except BrokerUnavailableError as error:
                assert "fork" in str(error), error
            else:
                raise AssertionError("it was sent")
            (answer,) = manager.publish_many([a_stored_event()])
            assert isinstance(answer, BrokerUnavailableError), answer
            manager.shutdown()
            with an_event_manager(topic) as mine:
                assert mine.publish_stored(a_stored_event()).text

        assert exit_codes([in_child(in_the_child)]) == [0]
        print(manager.publish_stored(a_stored_event()).text)
        manager.shutdown()
    """

    done = run_script(setup, body, timeout_seconds=60)

    assert done.returncode == 0, done.stderr
    first, last = done.stdout.split()
    assert first.endswith("@0")
    assert last.endswith("@2")


@needs_fork
def test_a_child_that_was_forked_beside_it_ends_as_ever(topic: str) -> None:
    """The client's threads are not there in a child, which may not wait for them."""
    setup = f"""
        import gc
        import os
        import signal
        import sys
        from tests.adapters.kafka.shop import OrderPaid, a_stored_event, an_event_manager, unique
        manager = an_event_manager({topic!r}, consumer_group=unique("shop"))
        manager.register_subscriber("stock", OrderPaid, print)
        manager.start()
        manager.publish_stored(a_stored_event(event_type="shop.warm-up"))
    """
    body = """
        children = []
        for number in range(4):
            child = os.fork()
            if not child:
                signal.alarm(20)
                if number % 2:
                    manager.shutdown()
                del manager
                gc.collect()
                sys.exit(7)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert codes == [7] * 4, codes
        assert manager.publish_stored(a_stored_event(event_type="shop.warm-up"))
        manager.shutdown()
    """

    done = run_script(setup, body, timeout_seconds=60)

    assert done.returncode == 0, done.stderr


def test_a_process_that_ends_without_a_shutdown_ends(topic: str) -> None:
    setup = f"""
        import sys
        from tests.adapters.kafka.shop import OrderPaid, a_stored_event, an_event_manager, unique
        manager = an_event_manager({topic!r}, consumer_group=unique("shop"))
    """
    body = """
        manager.register_subscriber("stock", OrderPaid, print)
        manager.start()
        print(manager.publish_stored(a_stored_event()).text)
        sys.exit(3)
    """

    done = run_script(setup, body, timeout_seconds=30)

    assert done.returncode == 3, done.stderr
