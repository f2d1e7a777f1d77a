"""Reading with a lease, and without one: who has lost it is given nothing, and changes nothing."""

import datetime as dt
from collections.abc import Iterator

import pytest
import redis

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_redis.connections import RedisConnections
from pragmatic_ddd_redis.dead_letters import DeadLetters
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.stream_entry import StreamEntry
from pragmatic_ddd_redis.stream_reader import CONSUMER, StreamReader
from tests.adapters.redis.shop import a_config, connections, entries

pytestmark = pytest.mark.service("redis")


@pytest.fixture
def reached() -> Iterator[RedisConnections]:
    reached = connections(a_config())
    yield reached
    reached.close()


def a_reader(reached: RedisConnections, topic: str, group: str) -> StreamReader:
    lease = StreamLease(
        connections=reached,
        key=f"pragmatic-ddd:{group}:owner:{topic}",
        duration=dt.timedelta(seconds=10),
    )
    return StreamReader(
        connections=reached, stream=topic, group=group, start_at="0", lease=lease, count=10
    )


def a_taken_over_reader(reached: RedisConnections, topic: str, group: str) -> StreamReader:
    reader = a_reader(reached, topic, group)
    assert reader.lease.acquire()
    reader.take_over()
    return reader


def read_numbers(reader: StreamReader) -> list[bytes]:
    return [entry.fields[b"n"] for entry in read_all(reader) if entry.fields is not None]


def read_all(reader: StreamReader) -> list[StreamEntry]:
    found = reader.read()
    assert found is not None
    return found


def add(client: "redis.Redis", topic: str, *numbers: int) -> None:
    for number in numbers:
        client.xadd(topic, {"n": number})


def expire(client: "redis.Redis", reader: StreamReader) -> None:
    assert client.delete(reader.lease.key) == 1


def test_one_at_a_time_has_the_lease(reached: RedisConnections, topic: str, group: str) -> None:
    first, second = (a_reader(reached, topic, group).lease for _ in range(2))

    assert first.acquire()
    assert not second.acquire()
    assert [first.is_held, second.is_held] == [True, False]
    first.release()
    assert [first.is_held, second.acquire()] == [False, True]


@pytest.mark.parametrize("way", ["renewed", "released"])
def test_a_lease_that_another_one_has_by_now_is_left_alone(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str, way: str
) -> None:
    first, second = (a_reader(reached, topic, group) for _ in range(2))
    assert first.lease.acquire()
    expire(client, first)
    assert second.lease.acquire()
    client.pexpire(second.lease.key, 5000)

    if way == "renewed":
        renewal = first.lease.renewal()
        assert renewal is not None
        first.lease.renewed(renewal, reached.ask(*renewal.command))
    else:
        first.lease.release()

    assert not first.lease.is_held
    assert client.get(second.lease.key) == second.lease.token.encode()
    assert client.pttl(second.lease.key) <= 5000


def test_a_renewal_lasts(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    lease = a_reader(reached, topic, group).lease
    assert lease.acquire()
    client.pexpire(lease.key, 2000)

    renewal = lease.renewal()
    assert renewal is not None
    lease.renewed(renewal, reached.ask(*renewal.command))

    assert lease.is_held
    assert int(client.pttl(lease.key)) > 5000


def test_entries_come_in_order_each_once(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    add(client, topic, *range(12))
    reader = a_taken_over_reader(reached, topic, group)

    assert read_numbers(reader) == [str(number).encode() for number in range(10)]
    assert read_numbers(reader) == [b"10", b"11"]
    assert read_numbers(reader) == []


def test_who_has_lost_the_lease_is_given_nothing(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    stale = a_taken_over_reader(reached, topic, group)
    expire(client, stale)
    reader = a_taken_over_reader(reached, topic, group)
    add(client, topic, 1, 2)

    held = [stale.lease.is_held]  # it does not know yet
    assert stale.read() is None
    assert [*held, stale.lease.is_held] == [True, False]
    assert read_numbers(reader) == [b"1", b"2"]


def test_who_has_lost_the_lease_makes_no_dead_letter(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    add(client, topic, 1)
    stale = a_taken_over_reader(reached, topic, group)
    (entry,) = read_all(stale)
    expire(client, stale)
    reader = a_taken_over_reader(reached, topic, group)
    letters = DeadLetters(connections=reached, confirmation=a_config().confirmation, group=group)
    failure = Failure(ValueError("no"), attempts=3)

    assert not letters.bury(entry, failure, stale.lease)
    assert entries(client, letters.stream) == []

    assert letters.bury(entry, failure, reader.lease)
    assert letters.bury(entry, failure, reader.lease)  # as after an answer that was lost
    (letter,) = entries(client, letters.stream)
    assert letter[b"n"] == b"1"
    assert letter[b"dead_letter_stream"] == topic.encode()
    assert letter[b"dead_letter_id"] == entry.id
    assert letter[b"dead_letter_attempts"] == b"3"
    assert letter[b"dead_letter_error"] == b"ValueError: no"
    reader.begin_anew()
    assert read_numbers(reader) == []


def test_what_is_not_acknowledged_comes_first_for_the_next_one(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    add(client, topic, 1, 2, 3)
    gone = a_taken_over_reader(reached, topic, group)
    first, _, _ = read_all(gone)
    gone.acknowledge(first)
    expire(client, gone)
    add(client, topic, 4)

    reader = a_reader(reached, topic, group)
    assert reader.lease.acquire()
    left = reader.take_over()

    assert left is not None
    assert left.deliveries == 2
    assert read_numbers(reader) == [b"2", b"3"]
    reader.begin_anew()
    for entry in read_all(reader):
        reader.acknowledge(entry)
    assert read_numbers(reader) == [b"4"]


def test_who_looks_again_is_not_given_an_entry_once_more(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    """Else trouble with Redis, in which a member looks again and again, would seem many deaths."""
    add(client, topic, 1)
    reader = a_taken_over_reader(reached, topic, group)
    for _ in range(20):
        assert read_numbers(reader) == [b"1"]
        reader.begin_anew()
    expire(client, reader)

    reader = a_reader(reached, topic, group)
    assert reader.lease.acquire()
    left = reader.take_over()

    assert left is not None
    assert left.deliveries == 2


def test_what_other_consumers_of_the_group_have_left_is_claimed(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    """Such as a program in another language that has worked for the group before."""
    add(client, topic, *range(250))
    client.xgroup_create(topic, group, "0")
    client.xreadgroup(group, "somebody", {topic: ">"}, count=250)

    reader = a_taken_over_reader(reached, topic, group)

    assert read_numbers(reader) == [str(number).encode() for number in range(10)]
    (consumer,) = [found for found in client.xinfo_consumers(topic, group) if found["pending"]]
    assert consumer["name"] == CONSUMER.encode()


def test_a_group_may_begin_with_what_is_new(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    add(client, topic, 1)
    reader = a_reader(reached, topic, group)
    reader.start_at = "$"
    reader.make_group()
    add(client, topic, 2)
    assert reader.lease.acquire()
    reader.take_over()

    assert read_numbers(reader) == [b"2"]


def test_a_deleted_group_is_made_again(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    reader = a_taken_over_reader(reached, topic, group)
    client.delete(topic)
    add(client, topic, 1)

    assert read_numbers(reader) == []
    assert read_numbers(reader) == [b"1"]


@pytest.mark.parametrize(
    ("deleted", "added", "comes"),
    [
        ("group", "7-0", ["3", "4"]),
        ("stream", "7-0", ["4"]),
        pytest.param("stream", "4-0", ["4"], id="stream-and-the-clock-was-set-back"),
        pytest.param("stream", None, ["4"], id="stream-and-added-after-it-was-noticed"),
    ],
)
def test_a_group_that_begins_with_what_is_new_skips_nothing_when_it_is_made_again(
    client: "redis.Redis",
    reached: RedisConnections,
    topic: str,
    group: str,
    *,
    deleted: str,
    added: str | None,
    comes: list[str],
) -> None:
    client.xadd(topic, {"n": 1}, id="5-0")
    reader = a_reader(reached, topic, group)
    reader.start_at = "$"
    assert reader.lease.acquire()
    reader.take_over()
    client.xadd(topic, {"n": 2}, id="5-1")
    client.xadd(topic, {"n": 3}, id="6-0")
    second, _ = read_all(reader)
    reader.acknowledge(second)
    if deleted == "stream":
        client.delete(topic)
    else:
        client.xgroup_destroy(topic, group)
    if added is not None:
        client.xadd(topic, {"n": 4}, id=added)

    reader.begin_anew()
    assert read_numbers(reader) == []
    if added is None:
        client.xadd(topic, {"n": 4}, id="4-0")
    assert read_numbers(reader) == [number.encode() for number in comes]


def test_a_group_that_is_made_again_begins_with_the_oldest_that_was_left(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    reader = a_reader(reached, topic, group)
    reader.start_at = "$"
    reader.make_group()
    client.xadd(topic, {"n": 1}, id="5-0")
    client.xadd(topic, {"n": 2}, id="5-1")
    client.xreadgroup(group, "somebody", {topic: ">"})
    assert reader.lease.acquire()
    reader.take_over()
    client.xgroup_destroy(topic, group)

    assert read_numbers(reader) == []
    assert read_numbers(reader) == [b"1", b"2"]


def test_a_dead_letter_is_kept_though_its_group_was_deleted(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    """It is all that is left of the event; without it the stream would wait for ever."""
    add(client, topic, 1)
    reader = a_taken_over_reader(reached, topic, group)
    (entry,) = read_all(reader)
    letters = DeadLetters(connections=reached, confirmation=a_config().confirmation, group=group)
    client.delete(topic)

    assert letters.bury(entry, Failure(ValueError("no"), attempts=3), reader.lease)

    (letter,) = entries(client, letters.stream)
    assert letter[b"n"] == b"1"


def test_an_entry_that_was_deleted_is_seen_to_be_missing(
    client: "redis.Redis",
    reached: RedisConnections,
    topic: str,
    group: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    add(client, topic, 1, 2)
    reader = a_taken_over_reader(reached, topic, group)
    first, _ = read_all(reader)
    client.xdel(topic, first.id)
    reader.begin_anew()

    gone, there = read_all(reader)
    assert gone.fields is None
    assert there.fields == {b"n": b"2"}

    expire(client, reader)
    reader = a_taken_over_reader(reached, topic, group)
    assert "1 entries of" in caplog.text
    assert read_numbers(reader) == [b"2"]


def test_waiting_ends_with_the_next_entry(
    client: "redis.Redis", reached: RedisConnections, topic: str, group: str
) -> None:
    add(client, topic, 1)
    reader = a_taken_over_reader(reached, topic, group)
    assert read_numbers(reader) == [b"1"]
    reader.wait(dt.timedelta(milliseconds=10))  # nothing comes: it ends all the same
    add(client, topic, 2)

    reader.wait(dt.timedelta(minutes=10))

    assert read_numbers(reader) == [b"2"]
