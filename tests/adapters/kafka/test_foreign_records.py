"""Records that other producers have written, and odd ones of our own, between events of ours."""

from collections.abc import Sequence

import pytest
from confluent_kafka import Producer

from pragmatic_ddd_kafka.record import OutgoingRecord
from tests.adapters.kafka.shop import OrderPaid, a_producer, a_stored_event, headers, wait_until
from tests.adapters.kafka.stage import Stage

pytestmark = pytest.mark.service("kafka")

PAID = ("ce_type", b"shop.order.paid")

Headers = Sequence[tuple[str, bytes | None]]


def put(
    stage: Stage, value: bytes | None, headers: Headers, key: bytes | None = b"order-1"
) -> None:
    """Write a record as a stranger's client would."""
    stranger = Producer({"bootstrap.servers": stage.topics.servers})
    stranger.produce(stage.topic, value, key, headers=list(headers))
    assert stranger.flush(20) == 0


@pytest.mark.parametrize(
    ("value", "odd"),
    [
        (b"hello", []),
        (b"", []),
        (None, []),
        (b"\xff\xfe", [("color", b"\xff\xfe"), ("color", None)]),
        (b"{}", [("ce_type", None)]),
        (b"{}", [("ce_type", b"")]),
        (b"{}", [("ce_type", b"\xff\xfe")]),
        (b"{}", [("", b"no name")]),
    ],
)
def test_what_is_no_event_is_passed_over(
    stage: Stage, value: bytes | None, odd: list[tuple[str, bytes | None]]
) -> None:
    put(stage, value, odd)
    stage.publish(["order-1"], range(1))

    stage.join()

    stage.recorded.wait_for(1)
    assert stage.topics.read(f"{stage.group}-dead-letter") == []


@pytest.mark.parametrize(
    ("value", "odd"),
    [
        (b"{}", [PAID]),
        (None, [PAID]),
        (b"", [PAID]),
        (b"{}", [PAID, ("ce_id", b"\xff\xfe")]),
        (b"{}", [PAID, ("ce_id", b"1"), ("ce_aggregateversion", b"many")]),
    ],
)
def test_what_claims_to_be_an_event_and_cannot_be_read_is_a_dead_letter(
    stage: Stage, value: bytes | None, odd: list[tuple[str, bytes | None]]
) -> None:
    put(stage, value, odd)
    stage.publish(["order-1"], range(1))

    stage.join()

    stage.recorded.wait_for(1)
    (letter,) = stage.topics.read(f"{stage.group}-dead-letter")
    assert (letter.value(), letter.key()) == (value, b"order-1")
    said = letter.headers()
    assert isinstance(said, list)
    assert said[: len(odd)] == odd


def test_a_record_without_a_key_is_handled(stage: Stage) -> None:
    good = a_stored_event()
    attributes = [
        PAID,
        ("ce_specversion", b"1.0"),
        ("ce_id", good.message_id.encode()),
        ("ce_source", b"/stranger"),
        ("ce_subject", b"order-1"),
        ("content-type", b"application/json"),
    ]
    put(stage, good.payload, attributes, key=None)

    stage.join()

    stage.recorded.wait_for(1)
    assert stage.recorded.numbers() == {"order-1": [5]}


def test_a_long_id_goes_there_and_back(stage: Stage) -> None:
    long = "ü" * 200
    stage.publish([long], range(2))
    stage.events.publish_stored(a_stored_event(aggregate_id=long, payload=b"?"))
    stage.publish([long], [2])

    stage.join(max_attempts=1)

    stage.recorded.wait_for(3)
    assert stage.recorded.numbers()[long] == [0, 1, 2]
    (letter,) = stage.topics.read(f"{stage.group}-dead-letter")
    assert headers(letter)["ce_subject"] == long
    assert letter.value() == b"?"


def test_a_dead_letter_that_is_too_large_says_less_of_the_error(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """It fits where it comes from, and not with the error beside it."""

    def refuse_the_first(event: OrderPaid) -> None:
        if event.total == 5:
            raise ValueError("x" * 3000)

    topic = f"{stage.group}-small"
    stage.topics.create(topic, max_message_bytes="1300")
    letters = f"{topic}-dead-letter"
    stage.topics.create(letters, max_message_bytes="1300")
    producer = a_producer()
    producer.start()
    good = a_stored_event(payload=b'{"aggregate_id": "order-1", "total": 5}' + b" " * 400)
    stage.events.publish_stored(good)
    (lying,) = stage.topics.read(stage.topic)
    pairs = [(name, text.encode()) for name, text in headers(lying).items()]
    producer.send(
        OutgoingRecord(topic=topic, key=b"order-1", value=lying.value() or b"", headers=pairs)
    )

    stage.topic = topic
    stage.join("a", refuse_the_first, consumer_group=topic, max_attempts=1)

    wait_until(lambda: len(stage.topics.read(letters)) == 1, lambda: caplog.text)
    (letter,) = stage.topics.read(letters)
    assert len(headers(letter)["dead_letter_error"]) == 200
