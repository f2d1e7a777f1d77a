"""Members of a group that come and go while events are handled."""

import datetime as dt
import logging
import threading
import time
from collections import deque

import pytest

from tests.adapters.kafka.shop import OrderPaid, wait_until
from tests.adapters.kafka.stage import Stage

pytestmark = pytest.mark.service("kafka")

SECOND = dt.timedelta(seconds=1)


def test_members_that_come_and_go_handle_everything_once_and_in_order(stage: Stage) -> None:
    """A partition that moves is handed over with what is done committed: nothing comes twice."""
    aggregates = [f"order-{number}" for number in range(20)]

    def slowly(_: OrderPaid) -> None:
        time.sleep(0.002)

    first = stage.join("a", slowly)
    stage.publish(aggregates, range(20))
    stage.recorded.wait_for(50)
    stage.join("b", slowly)
    published = 20
    while stage.recorded.members() != {"a", "b"}:  # however long that takes, there is work
        stage.publish(aggregates, [published])
        stage.recorded.wait_for(len(aggregates) * published)
        published += 1
        assert published < 2_000, "b gets nothing"
    first.shutdown()
    stage.join("c", slowly)
    stage.publish(aggregates, range(published, published + 20))
    published += 20

    stage.recorded.wait_for(len(aggregates) * published)
    for of in aggregates:
        assert stage.recorded.numbers()[of] == list(range(published))


def test_a_storm_of_members_handles_everything_once_and_in_order(stage: Stage) -> None:
    aggregates = [f"order-{number}" for number in range(20)]
    waiting = deque([stage.join("0")])
    for number in range(12):
        stage.publish(aggregates, [number])
        waiting.append(stage.join(str(number + 1)))
        if number % 3:
            waiting.popleft().shutdown()

    stage.recorded.wait_for(20 * 12)
    for of in aggregates:
        assert stage.recorded.numbers()[of] == list(range(12))


def test_a_partition_that_comes_back_after_it_was_held_goes_on(stage: Stage) -> None:
    """A pause is of the member that made it, and ends with its hold on the partition."""
    aggregates = stage.one_of_each_partition()
    is_mended = threading.Event()
    tried: set[str] = set()

    def fail(event: OrderPaid) -> None:
        tried.add(event.aggregate_id)
        if not is_mended.is_set():
            raise ValueError("not here")

    stage.join("a", fail, retry_backoff_base=300 * SECOND, retry_backoff_cap=300 * SECOND)
    stage.publish(aggregates, [0])
    wait_until(lambda: tried == set(aggregates))
    other = stage.join("b")
    wait_until(lambda: stage.recorded.members() == {"b"})
    moved = set(stage.recorded.numbers("b"))
    other.shutdown()
    is_mended.set()

    stage.publish(sorted(moved), [1])

    wait_until(
        lambda: set(stage.recorded.numbers("a")) == moved, lambda: (moved, stage.recorded.calls)
    )
    for of in moved:
        assert stage.recorded.numbers()[of] == [0, 1]


def test_members_of_one_process_handle_side_by_side(stage: Stage) -> None:
    aggregates = stage.one_of_each_partition()
    together = threading.Barrier(3)
    by_thread: dict[str, str] = {}

    def meet(event: OrderPaid) -> None:
        by_thread[event.aggregate_id] = threading.current_thread().name
        if event.total == 900:
            together.wait(30)

    stage.join("a", meet, consumer_threads=3)
    rounds = iter(range(900))

    def have_a_partition_each() -> bool:
        _share(stage, aggregates, next(rounds))
        return len(set(by_thread.values())) == 3

    wait_until(have_a_partition_each)

    _share(stage, aggregates, 900)

    assert all(numbers[-1] == 900 for numbers in stage.recorded.numbers().values())


def test_a_named_member_that_is_restarted_moves_nobody_s_partitions(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    aggregates = stage.one_of_each_partition()
    with caplog.at_level(logging.INFO):
        leaving = stage.join("a", group_instance_id="a", session_timeout=20 * SECOND)
        stage.join("b", group_instance_id="b", session_timeout=20 * SECOND)
        rounds = iter(range(100))
        wait_until(lambda: _share(stage, aggregates, next(rounds)) == {"a", "b"})
        of_b = {of for who, of, number in stage.recorded.calls[-3:] if who == "b"}
        leaving.shutdown()
        caplog.clear()

        stage.join("a", group_instance_id="a", session_timeout=20 * SECOND)
        assert _share(stage, aggregates, 900) == {"a", "b"}

    assert {of for who, of, number in stage.recorded.calls[-3:] if who == "b"} == of_b
    assert sum("has got" in each.message for each in caplog.records) == 1


def _share(stage: Stage, aggregates: list[str], number: int) -> set[str]:
    """Publish one event of each aggregate, and return who handles them."""
    begun = len(stage.recorded.calls)
    stage.publish(aggregates, [number])
    wait_until(lambda: len(stage.recorded.calls) == begun + 3)
    return {who for who, _, _ in stage.recorded.calls[begun:]}


def test_of_two_with_one_name_the_later_one_consumes(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.join("a", group_instance_id="same")
    stage.publish(["order-1"], [0])
    stage.recorded.wait_for(1)

    stage.join("b", group_instance_id="same")
    wait_until(lambda: "consumes nothing more" in caplog.text)
    stage.publish(["order-1"], [1])

    stage.recorded.wait_for(2)
    assert "fenced" in caplog.text
    assert stage.recorded.calls[-1][0] == "b"
