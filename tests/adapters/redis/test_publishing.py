"""Publishing to a real Redis: receipts, errors, and what lies in the stream."""

import datetime as dt
from collections.abc import Iterator

import pytest
import redis

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IEventManager, Receipt
from pragmatic_ddd_redis import RedisStreamsEventManager
from tests.adapters.redis.shop import (
    OrderPaid,
    a_stored_event,
    an_event_manager,
    entries,
    ids,
    server_address,
    unique,
    url_at,
)
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("redis")

_SHORT = dt.timedelta(milliseconds=500)
_ID_BYTES = len(b"$15\r\n1764527591000-0\r\n")


@pytest.fixture
def behind_the_gate(gate: TcpGate, topic: str) -> Iterator[RedisStreamsEventManager]:
    with an_event_manager(topic, url=url_at(gate.port), send_timeout=_SHORT) as manager:
        manager.publish_stored(a_stored_event(aggregate_id="first"))
        yield manager


def test_it_is_an_event_manager(events: RedisStreamsEventManager) -> None:
    manager: IEventManager = events

    assert manager.side_by_side >= 1
    assert manager.longest_call == dt.timedelta(seconds=9)


def test_a_receipt_is_the_id_of_the_entry_and_its_stream(
    events: RedisStreamsEventManager, client: "redis.Redis", topic: str
) -> None:
    receipt = events.publish_stored(a_stored_event())

    (entry_id,) = ids(client, topic)
    assert receipt.text == f"{entry_id.decode()} on {topic}"


def test_the_client_repeats_nothing_by_itself(
    behind_the_gate: RedisStreamsEventManager,
    gate: TcpGate,
    client: "redis.Redis",
    topic: str,
) -> None:
    """The event is added and the answer lost: one entry, and an error that says so."""
    with gate.answering(at_most_bytes=0), pytest.raises(EventUnconfirmedError):
        behind_the_gate.publish_stored(a_stored_event())

    assert len(entries(client, topic)) == 2


def test_a_repeated_event_is_a_duplicate_under_the_same_id(
    behind_the_gate: RedisStreamsEventManager,
    gate: TcpGate,
    client: "redis.Redis",
    topic: str,
) -> None:
    message = a_stored_event()
    with gate.answering(at_most_bytes=0), pytest.raises(EventUnconfirmedError):
        behind_the_gate.publish_stored(message)

    behind_the_gate.publish_stored(message)

    _, first, second = entries(client, topic)
    assert first == second


def test_of_many_messages_those_that_were_answered_are_confirmed(
    behind_the_gate: RedisStreamsEventManager,
    gate: TcpGate,
    client: "redis.Redis",
    topic: str,
) -> None:
    messages = [a_stored_event(aggregate_id=f"order-{number}") for number in range(5)]

    with gate.answering(at_most_bytes=2 * _ID_BYTES):
        answers = behind_the_gate.publish_many(messages)

    assert [type(answer) for answer in answers] == [Receipt] * 2 + [EventUnconfirmedError] * 3
    assert len(entries(client, topic)) == 6


def test_many_large_messages_are_sent_piece_by_piece(
    events: RedisStreamsEventManager, client: "redis.Redis", topic: str
) -> None:
    payload = b'{"aggregate_id":"o","note":"' + b"x" * 300_000 + b'"}'
    messages = [
        a_stored_event(aggregate_id=f"order-{number}", payload=payload) for number in range(20)
    ]

    answers = events.publish_many(messages)

    assert all(isinstance(answer, Receipt) for answer in answers)
    ids = [fields[b"ce_id"].decode() for fields in entries(client, topic)]
    assert ids == [message.message_id for message in messages]


def test_one_message_that_cannot_be_written_keeps_none_of_the_others(
    events: RedisStreamsEventManager, client: "redis.Redis", topic: str
) -> None:
    messages = [a_stored_event(aggregate_id=of) for of in ("a", "b\ud800", "c")]

    answers = events.publish_many(messages)

    assert [type(answer) for answer in answers] == [Receipt, EventRejectedError, Receipt]
    assert len(entries(client, topic)) == 2


def test_a_stream_keeps_everything_unless_it_is_told_otherwise(
    events: RedisStreamsEventManager, client: "redis.Redis", topic: str
) -> None:
    for number in range(20):
        events.publish_many([a_stored_event(aggregate_id=f"o-{n}") for n in range(50)])
        assert client.xlen(topic) == (number + 1) * 50


def test_a_longest_length_trims_the_stream(client: "redis.Redis", topic: str) -> None:
    with an_event_manager(topic, max_length=100) as manager:
        for _ in range(20):
            manager.publish_many([a_stored_event(aggregate_id=f"o-{n}") for n in range(50)])

    assert 100 <= client.xlen(topic) <= 200  # whole nodes are kept


def test_an_aggregate_is_always_in_the_same_partition(client: "redis.Redis", topic: str) -> None:
    with an_event_manager(topic, partitions=4) as manager:
        for _ in range(3):
            manager.publish_many([a_stored_event(aggregate_id=f"o-{n}") for n in range(40)])

    streams = [entries(client, f"{topic}:{number}") for number in range(4)]
    aggregates = [{fields[b"ce_subject"] for fields in stream} for stream in streams]
    assert sum(map(len, aggregates)) == 40
    assert all(aggregates)
    assert client.exists(topic) == 0


def test_a_key_that_is_no_stream_fails_that_event(
    events: RedisStreamsEventManager, client: "redis.Redis", topic: str
) -> None:
    client.set(topic, "no stream")

    with pytest.raises(EventPublishError, match="wrong kind") as caught:
        events.publish_stored(a_stored_event())

    assert type(caught.value) is EventPublishError


def test_who_may_not_write_to_a_stream_is_told_so(topic: str) -> None:
    host, port = server_address()
    with (
        an_event_manager(
            topic, url=f"redis://restricted:restricted@{host}:{port}", durability="memory"
        ) as manager,
        pytest.raises(EventPublishError, match="NoPermission") as caught,
    ):
        manager.publish_stored(a_stored_event())
    assert type(caught.value) is EventPublishError


def test_a_wrong_password_is_nobodys_fault(topic: str) -> None:
    host, port = server_address()
    with (
        an_event_manager(topic, url=f"redis://restricted:wrong@{host}:{port}") as manager,
        pytest.raises(BrokerUnavailableError, match="username-password") as caught,
    ):
        manager.publish_stored(a_stored_event())
    assert "wrong" not in caught.value.reason.replace("wrong number", "")


def test_the_source_is_who_sends(client: "redis.Redis", topic: str) -> None:
    plain = an_event_manager(topic)
    manager = RedisStreamsEventManager(
        plain.config, plain.serializer, plain.topics, source="https://shop.example/orders"
    )
    with manager:
        manager.publish(OrderPaid(aggregate_id="order-1"))

    (fields,) = entries(client, topic)
    assert fields[b"ce_source"] == b"https://shop.example/orders"


def test_an_event_for_one_subscriber_may_have_a_topic_of_its_own(
    events: RedisStreamsEventManager, client: "redis.Redis"
) -> None:
    other = unique("other")
    events.topics = _Topics(other)

    events.publish(OrderPaid(aggregate_id="order-1"), subscriber="mail")

    assert len(entries(client, other)) == 1
    client.delete(other)


class _Topics:
    def __init__(self, topic: str) -> None:
        self._topic = topic

    def resolve(self, event_type: str, *, subscriber: str | None = None) -> str:
        return self._topic if subscriber else "nowhere"
