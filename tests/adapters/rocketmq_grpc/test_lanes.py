"""The messages in hand: one of a queue at a time, in order, and never after they were lost."""

import datetime as dt
import threading
import time

import pytest

from pragmatic_ddd_rocketmq_grpc.lanes import Lane, Lanes
from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage, Queue, ReceivedMessage

_NOTHING = dt.timedelta()
_A_WHILE = dt.timedelta(seconds=10)


def a_message(queue: int, offset: int) -> HeldMessage:
    message = ReceivedMessage(
        message_id=f"m{queue}-{offset}",
        queue=Queue("events", "broker-a", queue),
        queue_offset=offset,
        body=b"{}",
    )
    return HeldMessage(message, "handle", None)


def later(seconds: float = 10.0) -> float:
    return time.monotonic() + seconds


def taken(lanes: Lanes) -> tuple[Lane, int]:
    found = lanes.next()
    assert found is not None
    return found[0], found[1].message.queue_offset


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(room=2)


def test_a_queue_is_handled_one_message_at_a_time_and_in_order(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5), a_message(1, 6), a_message(2, 9)], ours_until=later())

    first, offset = taken(lanes)
    other, other_offset = taken(lanes)
    assert (offset, other_offset) == (5, 9)
    assert lanes.settled(first)[0].message.queue_offset == 5
    again, offset = taken(lanes)
    assert again is first
    assert offset == 6
    lanes.settled(again)
    lanes.settled(other)
    assert lanes.wait_until_idle(within=_NOTHING)


def test_a_lane_that_failed_waits_with_all_that_is_behind(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5), a_message(1, 6), a_message(2, 9)], ours_until=later())
    first, _ = taken(lanes)

    lanes.failed(first, not_before=time.monotonic() + 0.2)

    _, offset = taken(lanes)
    assert offset == 9
    again, offset = taken(lanes)
    assert time.monotonic() >= first.not_before
    assert (again, offset) == (first, 5)


def test_who_waits_is_told_that_something_has_come(lanes: Lanes) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(taken(lanes)[1]))
    thread.start()

    lanes.arrived([a_message(1, 5)], ours_until=later())

    thread.join(10)
    assert found == [5]


def test_room_is_for_lanes_that_have_something_to_do(lanes: Lanes) -> None:
    assert lanes.wait_for_room(within=_NOTHING)
    lanes.arrived([a_message(1, 5), a_message(2, 5)], ours_until=later())
    assert not lanes.wait_for_room(within=_NOTHING)
    lane, _ = taken(lanes)
    assert not lanes.wait_for_room(within=_NOTHING)

    lanes.failed(lane, not_before=later())

    assert lanes.wait_for_room(within=_NOTHING)


def test_what_is_in_hand_is_to_be_extended_in_time(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5)], ours_until=later(3))
    lanes.arrived([a_message(2, 5)], ours_until=later(60))

    (lane,) = lanes.to_extend(within=_A_WHILE)
    assert lane.queue.number == 1
    lanes.extended(lane, ours_until=later(60))

    assert lanes.to_extend(within=_A_WHILE) == []


def test_what_was_lost_is_not_begun(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5), a_message(1, 6)], ours_until=time.monotonic() - 1)
    lanes.arrived([a_message(2, 9)], ours_until=later())

    assert lanes.to_extend(within=_NOTHING) == []

    _, offset = taken(lanes)
    assert offset == 9
    assert len(lanes.close()) == 0


def test_what_was_lost_is_not_begun_though_nobody_has_let_go_of_it_yet(lanes: Lanes) -> None:
    """As when the process was stopped for a while, or the proxy does not answer."""
    lanes.arrived([a_message(1, 5), a_message(1, 6)], ours_until=later())
    lanes.arrived([a_message(2, 9)], ours_until=later())
    lane, _ = taken(lanes)
    lane.ours_until = time.monotonic() - 1
    lanes.settled(lane)

    _, offset = taken(lanes)

    assert offset == 9
    assert lanes.wait_for_room(within=_NOTHING)


def test_who_waits_does_not_wake_up_again_and_again_for_what_was_lost(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5)], ours_until=time.monotonic() - 1)
    busy_seconds: list[float] = []

    def wait() -> None:
        lanes.next()
        busy_seconds.append(time.thread_time())

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.5)
    lanes.close()
    thread.join()

    assert busy_seconds[0] < 0.01


def test_what_fails_at_the_end_is_given_back(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5)], ours_until=later())
    lane, _ = taken(lanes)
    lanes.close()

    lanes.failed(lane, not_before=0)

    (left,) = lanes.close()
    assert left.message.queue_offset == 5
    assert lanes.next() is None


def test_a_message_that_fails_when_it_was_lost_is_left_to_who_has_it(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5)], ours_until=later())
    lane, _ = taken(lanes)
    lane.ours_until = time.monotonic() - 1

    lanes.failed(lane, not_before=0)

    assert lanes.close() == []


def test_a_queue_that_comes_again_waits_for_the_message_at_work(lanes: Lanes) -> None:
    """It was lost while a handler was slow: never are two messages of a queue at work."""
    lanes.arrived([a_message(1, 5), a_message(1, 6)], ours_until=later())
    lane, _ = taken(lanes)
    again = [a_message(1, offset) for offset in (5, 6, 7)]

    lanes.arrived(again, ours_until=later())
    lanes.arrived([a_message(2, 9)], ours_until=later())

    assert taken(lanes)[1] == 9
    done = lanes.settled(lane)
    assert [each.message.queue_offset for each in done] == [5, 5]
    assert done[1] is again[0]
    assert taken(lanes)[1] == 6


def test_one_that_fails_and_has_come_again_is_tried_once_more_not_twice(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5)], ours_until=later())
    lane, _ = taken(lanes)
    lanes.arrived([a_message(1, 5)], ours_until=later())

    lanes.failed(lane, not_before=0)

    assert taken(lanes)[1] == 5
    assert lanes.close() == []


def test_the_end_gives_back_what_was_not_begun(lanes: Lanes) -> None:
    lanes.arrived([a_message(1, 5), a_message(1, 6), a_message(2, 9)], ours_until=later())
    lane, _ = taken(lanes)

    left = lanes.close()

    assert sorted(each.message.queue_offset for each in left) == [6, 9]
    assert lanes.next() is None
    assert not lanes.wait_until_idle(within=_NOTHING)
    lanes.settled(lane)
    assert lanes.wait_until_idle(within=_NOTHING)
