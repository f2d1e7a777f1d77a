"""The producer against a real broker."""

import datetime as dt
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_kafka.errors import (
    RefusedMessageError,
    RefusedTopicError,
    SendError,
    UnreachableError,
)
from pragmatic_ddd_kafka.kafka_producer import KafkaProducer, longest_send
from pragmatic_ddd_kafka.record import Delivery, OutgoingRecord
from tests import servers
from tests.adapters.kafka.shop import (
    Topics,
    a_producer,
    a_record,
    as_user,
    headers,
    unique,
    values,
    wait_until,
)

pytestmark = pytest.mark.service("kafka")

SECOND = dt.timedelta(seconds=1)

# From the tests of the Java client: key, and its hash.
JAVA_HASHES = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


@pytest.fixture
def producer() -> Iterator[KafkaProducer]:
    producer = a_producer()
    producer.start()
    yield producer
    producer.close(within=SECOND)


def records(topic: str, count: int, size: int = 20) -> list[OutgoingRecord]:
    """Return records, each with a key and a content of its own."""
    return [
        a_record(topic, key=f"order-{number}".encode(), value=f"{number}".ljust(size).encode())
        for number in range(count)
    ]


def kinds(answers: list[Delivery | SendError]) -> Counter[str]:
    return Counter(type(answer).__name__ for answer in answers)


def test_a_delivery_says_where_the_record_lies(
    producer: KafkaProducer, topics: Topics, topic: str
) -> None:
    first = producer.send(
        a_record(topic, value=b"1", headers=[("name", b"\xc3\xbc"), ("no", None)])
    )
    second = producer.send(a_record(topic, value=b"2"))

    assert first.partition == second.partition
    assert (first.offset, second.offset) == (0, 1)
    assert str(second) == f"{topic}/{second.partition}@1"
    found = topics.read(topic)
    assert values(found) == [b"1", b"2"]
    assert [message.partition() for message in found] == [first.partition] * 2
    assert headers(found[0])["name"] == "ü"


def test_a_key_has_the_partition_that_the_java_client_gives_it(
    producer: KafkaProducer, topics: Topics
) -> None:
    topic = unique("java")
    topics.create(topic, partitions=7)

    for key, java_hash in JAVA_HASHES.items():
        delivery = producer.send(a_record(topic, key=key.encode()))

        assert delivery.partition == (java_hash & 0x7FFFFFFF) % 7


def test_many_records_are_under_way_at_once(
    producer: KafkaProducer, topics: Topics, topic: str
) -> None:
    sent = records(topic, 500)

    answers = producer.send_many(sent)

    assert kinds(answers) == {"Delivery": 500}
    assert sorted(values(topics.read(topic))) == sorted(record.value or b"" for record in sent)


def test_threads_get_their_own_answers(producer: KafkaProducer, topics: Topics) -> None:
    """Reports of all calls come in one thread."""
    names = [unique("events") for _ in range(6)]
    topics.create(*names, partitions=1)
    wrong: list[object] = []

    def send(topic: str) -> None:
        for number in range(50):
            answer = producer.send(a_record(topic, value=b"%d" % number))
            if (answer.topic, answer.offset) != (topic, number):
                wrong.append(answer)

    threads = [threading.Thread(target=send, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    for name in names:
        assert values(topics.read(name)) == [b"%d" % number for number in range(50)]


def test_a_batch_that_is_too_large_condemns_no_record_that_is_not(
    producer: KafkaProducer, topics: Topics
) -> None:
    """A broker refuses a batch as a whole; each of these would fit."""
    topic = unique("small")
    topics.create(topic, partitions=1, max_message_bytes="10000")
    sent = records(topic, 100, size=300)
    sent[40] = a_record(topic, key=b"order-40", value=b"x" * 20_000)

    answers = producer.send_many(sent)

    assert isinstance(answers[40], RefusedMessageError)
    assert kinds(answers) == {"Delivery": 99, type(answers[40]).__name__: 1}
    assert len(topics.read(topic)) == 99
    again = producer.send_many(records(topic, 10))
    assert kinds(again) == {"Delivery": 10}


def test_a_topic_that_does_not_exist_is_refused_until_it_does(
    producer: KafkaProducer, topics: Topics
) -> None:
    topic = unique("later")
    with pytest.raises(RefusedTopicError, match="UNKNOWN_TOPIC"):
        producer.send(a_record(topic))

    topics.create(topic)

    def is_sent() -> bool:
        return kinds(producer.send_many([a_record(topic)])) == {"Delivery": 1}

    wait_until(is_sent)


def test_a_record_that_is_refused_keeps_none_of_the_others(
    producer: KafkaProducer, topics: Topics, topic: str
) -> None:
    sent = [*records(topic, 3), a_record(unique("missing")), *records(topic, 2)]

    answers = producer.send_many(sent)

    assert isinstance(answers[3], RefusedTopicError)
    assert kinds(answers) == {"Delivery": 5, "RefusedTopicError": 1}


def of_user(name: str, password: str) -> KafkaProducer:
    return a_producer(**as_user(name, password, at=servers.kafka_sasl_bootstrap()))


def test_a_user_may_send(topics: Topics, topic: str) -> None:
    producer = of_user("test", "test")
    producer.start()

    assert producer.send(a_record(topic)).offset == 0

    producer.close(within=SECOND)
    assert len(topics.read(topic)) == 1


def test_a_user_who_may_not_write_is_refused(topic: str) -> None:
    producer = of_user("restricted", "restricted")
    producer.start()

    (answer,) = producer.send_many([a_record(topic)])

    producer.close(within=SECOND)
    assert isinstance(answer, RefusedTopicError | UnreachableError)
    assert "AUTHORIZATION_FAILED" in str(answer)


def test_a_wrong_password_is_no_message_s_fault(
    topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = of_user("test", "hush")
    producer.start()

    with pytest.raises(UnreachableError, match="_AUTHENTICATION"):
        producer.send(a_record(topic))

    producer.close(within=SECOND)
    assert "hush" not in caplog.text


def test_nobody_there_is_no_message_s_fault(caplog: pytest.LogCaptureFixture) -> None:
    producer = a_producer(bootstrap_servers="127.0.0.1:1", send_timeout=SECOND)
    producer.start()
    begun = time.monotonic()

    answers = producer.send_many(records("events", 10))

    assert time.monotonic() - begun < longest_send(SECOND).total_seconds()
    producer.close(within=SECOND)
    assert kinds(answers) == {"UnreachableError": 10}
    assert "refused" in str(answers[0])
    assert 1 <= len(caplog.records) <= 5  # told once, though the client tries many times a second


def test_a_full_queue_is_no_message_s_fault(topic: str) -> None:
    producer = a_producer(client_settings=("queue.buffering.max.messages=2",))
    producer.start()

    answers = producer.send_many(records(topic, 50))

    producer.close(within=SECOND)
    assert set(kinds(answers)) == {"Delivery", "UnreachableError"}
    assert any("_QUEUE_FULL" in str(answer) for answer in answers)


def test_a_spoiled_producer_is_replaced(
    producer: KafkaProducer, topics: Topics, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer.send(a_record(topic, value=b"1"))
    spoiled = producer._connection
    assert spoiled is not None
    spoiled._is_spoiled = True

    producer.send(a_record(topic, value=b"2"))

    assert producer._connection is not spoiled
    assert values(topics.read(topic)) == [b"1", b"2"]
    assert "a new producer takes its place" in caplog.text


def test_what_a_producer_has_made_goes_with_it(topic: str) -> None:
    before = set(threading.enumerate())
    for _ in range(5):
        producer = a_producer()
        producer.start()
        producer.send(a_record(topic))
        producer.close(within=SECOND)

    wait_until(lambda: set(threading.enumerate()) <= before, threading.enumerate)


def test_before_the_start_and_after_the_end_nothing_is_sent(topic: str, topics: Topics) -> None:
    producer = a_producer()
    with pytest.raises(UnreachableError, match="not started"):
        producer.send(a_record(topic))
    producer.start()

    producer.close(within=SECOND)
    producer.close(within=SECOND)

    with pytest.raises(UnreachableError, match="shut down"):
        producer.send(a_record(topic))
    assert topics.read(topic) == []


def test_an_end_beside_a_call_waits_for_it() -> None:
    producer = a_producer(bootstrap_servers="127.0.0.1:1", send_timeout=SECOND)
    producer.start()
    answers: list[Delivery | SendError] = []
    call = threading.Thread(target=lambda: answers.extend(producer.send_many(records("t", 3))))
    call.start()
    wait_until(lambda: producer._in_flight)

    producer.close(within=longest_send(SECOND))

    assert kinds(answers) == {"UnreachableError": 3}
    call.join()


def test_an_end_that_does_not_wait_gives_up_what_is_under_way() -> None:
    producer = a_producer(bootstrap_servers="127.0.0.1:1", send_timeout=30 * SECOND)
    producer.start()
    answers: list[Delivery | SendError] = []
    call = threading.Thread(target=lambda: answers.extend(producer.send_many(records("t", 3))))
    call.start()
    wait_until(lambda: producer._in_flight)

    producer.close(within=dt.timedelta())

    call.join(10)
    assert not call.is_alive()
    assert kinds(answers) == {"UnreachableError": 3}


def test_a_property_that_the_client_does_not_know_is_named() -> None:
    producer = a_producer(client_settings=("no.such.property=1",))

    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        producer.start()
