"""A consumer group of several processes: killed, stopped, and added while events come in."""

import itertools
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import pytest
import redis

from pragmatic_ddd_redis import RedisStreamsEventManager
from tests.adapters.redis.consumer_process import a_consumer, recorded, wait_until
from tests.adapters.redis.shop import OrderPaid, an_event_manager, entries, forget, unique

pytestmark = pytest.mark.service("redis")

_PARTITIONS = 4
_AGGREGATES = [f"order-{number}" for number in range(12)]


@pytest.fixture
def record(client: "redis.Redis") -> Iterator[str]:
    record = unique("record")
    yield record
    forget(client, record)


@pytest.fixture
def publisher(topic: str) -> Iterator[RedisStreamsEventManager]:
    with an_event_manager(topic, partitions=_PARTITIONS) as publisher:
        yield publisher


def _publish(publisher: RedisStreamsEventManager, totals: Iterable[int]) -> None:
    for total in totals:
        for aggregate in _AGGREGATES:
            publisher.publish(OrderPaid(aggregate_id=aggregate, total=total))


def _publish_until(
    publisher: RedisStreamsEventManager, total: int, is_so: Callable[[], bool]
) -> int:
    """Publish one event of each aggregate after the other; return the first total not used."""
    used = itertools.count(total)

    def publish_and_look() -> bool:
        _publish(publisher, [next(used)])
        return is_so()

    wait_until(publish_and_look, lambda: "as before")
    return next(used)


def _totals(client: "redis.Redis", record: str, what: str) -> dict[str, list[int]]:
    """Return the totals of each aggregate's events, as they were begun or ended."""
    found: dict[str, list[int]] = defaultdict(list)
    for kind, _, aggregate, total in recorded(client, record):
        if kind == what:
            found[aggregate].append(total)
    return found


def _wait_for_all(client: "redis.Redis", record: str, count: int) -> None:
    def ended() -> set[tuple[str, int]]:
        return {
            (aggregate, total)
            for kind, _, aggregate, total in recorded(client, record)
            if kind == "end"
        }

    wait_until(lambda: len(ended()) >= count * len(_AGGREGATES), lambda: len(ended()))


def _members(client: "redis.Redis", record: str) -> set[int]:
    return {process for _, process, _, _ in recorded(client, record)}


def _assert_order(client: "redis.Redis", record: str, count: int) -> int:
    """Check that nothing was overtaken and nothing lost; return how many came twice."""
    begun = _totals(client, record, "begin")
    duplicates = 0
    for aggregate in _AGGREGATES:
        firsts = list(dict.fromkeys(begun[aggregate]))
        assert firsts == list(range(count)), f"{aggregate}: {begun[aggregate]}"
        duplicates += len(begun[aggregate]) - count
    return duplicates


def test_members_share_the_streams_and_nothing_comes_twice(
    client: "redis.Redis",
    topic: str,
    group: str,
    record: str,
    publisher: RedisStreamsEventManager,
) -> None:
    settings = {
        "topic": topic,
        "group": group,
        "record": record,
        "partitions": _PARTITIONS,
        "work_seconds": 0.005,
    }
    with a_consumer(**settings) as first, a_consumer(**settings) as second:
        both = {first.pid, second.pid}
        total = _publish_until(publisher, 0, lambda: _members(client, record) == both)
        _publish(publisher, range(total, total + 20))
        _wait_for_all(client, record, total + 20)

    assert _assert_order(client, record, total + 20) == 0


def test_a_killed_member_is_replaced_and_no_aggregate_is_out_of_order(
    client: "redis.Redis",
    topic: str,
    group: str,
    record: str,
    publisher: RedisStreamsEventManager,
) -> None:
    settings = {
        "topic": topic,
        "group": group,
        "record": record,
        "partitions": _PARTITIONS,
        "work_seconds": 0.005,
    }
    with a_consumer(**settings) as first, a_consumer(**settings) as second:
        both = {first.pid, second.pid}
        total = _publish_until(publisher, 0, lambda: _members(client, record) == both)
        _publish(publisher, range(total, total + 10))
        first.kill()
        _publish(publisher, range(total + 10, total + 30))
        with a_consumer(**settings):
            _wait_for_all(client, record, total + 30)

    duplicates = _assert_order(client, record, total + 30)
    assert duplicates <= _PARTITIONS  # what it had in hand in each of its streams


def test_a_member_that_was_stopped_and_goes_on_reads_nothing_any_more(
    client: "redis.Redis",
    topic: str,
    group: str,
    record: str,
    publisher: RedisStreamsEventManager,
) -> None:
    """Its lease is over, and another one works on its streams by now."""
    settings = {
        "topic": topic,
        "group": group,
        "record": record,
        "partitions": _PARTITIONS,
        "work_seconds": 0.005,
    }
    with a_consumer(**settings) as first:
        total = _publish_until(publisher, 0, lambda: first.pid in _members(client, record))
        _publish(publisher, range(total, total + 20))
        first.send_signal(signal.SIGSTOP)
        with a_consumer(**settings) as second:
            both = {first.pid, second.pid}
            total = _publish_until(publisher, total + 20, lambda: _members(client, record) == both)
            first.send_signal(signal.SIGCONT)
            _publish(publisher, range(total, total + 20))
            _wait_for_all(client, record, total + 20)

    duplicates = _assert_order(client, record, total + 20)
    assert duplicates <= 2 * _PARTITIONS  # what was in hand when it was stopped, and at its end


def test_an_event_that_ends_every_process_becomes_a_dead_letter(
    client: "redis.Redis", topic: str, group: str, record: str
) -> None:
    settings = {
        "topic": topic,
        "group": group,
        "record": record,
        "max_attempts": 1,
        "dies": True,
    }
    with an_event_manager(topic) as publisher:
        for total in (12, 13, 14):
            publisher.publish(OrderPaid(aggregate_id="order-1", total=total))

    def has_handled_the_last() -> bool:
        return ("end", "order-1", 14) in {
            (kind, of, n) for kind, _, of, n in recorded(client, record)
        }

    deaths = 0
    while not has_handled_the_last():
        with a_consumer(**settings) as consumer:
            wait_until(
                lambda: consumer.poll() is not None or has_handled_the_last(),
                lambda: recorded(client, record),
            )
            deaths += consumer.poll() is not None
        assert deaths < 5

    assert deaths == 2  # one more than there are tries
    (letter,) = entries(client, f"{group}-dead-letter")
    assert b'"total":13' in letter[b"data"]
    assert b"members of" in letter[b"dead_letter_error"]


def test_a_member_that_ends_well_hands_over_without_a_duplicate(
    client: "redis.Redis",
    topic: str,
    group: str,
    record: str,
    publisher: RedisStreamsEventManager,
) -> None:
    settings = {
        "topic": topic,
        "group": group,
        "record": record,
        "partitions": _PARTITIONS,
        "work_seconds": 0.005,
    }
    with a_consumer(**settings) as first:
        total = _publish_until(publisher, 0, lambda: first.pid in _members(client, record))
        _publish(publisher, range(total, total + 20))
        first.terminate()
        assert first.wait(30) == 0
        with a_consumer(**settings):
            _publish(publisher, range(total + 20, total + 30))
            _wait_for_all(client, record, total + 30)

    assert _assert_order(client, record, total + 30) == 0
