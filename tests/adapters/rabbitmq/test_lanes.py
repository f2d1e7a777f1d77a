"""Messages in hand: which may be taken, beside which, and when."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd_rabbitmq.lanes import Lanes
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage

_AT_ONCE = 0.05


def a_received(of: str, tag: int, *, returns: int = 0) -> ReceivedMessage:
    return ReceivedMessage(
        queue="q",
        session=1,
        delivery_tag=tag,
        body=b"{}",
        attributes={"subject": of},
        returns=returns,
    )


def some_lanes() -> Lanes:
    return Lanes(is_alone=lambda message: message.returns > 0)


def taken(lanes: Lanes) -> ReceivedMessage:
    message = lanes.take()
    assert message is not None
    return message


def nothing_to_take(lanes: Lanes) -> bool:
    """Say whether a thread would have to wait; it is released by the end of the lanes."""
    found: list[ReceivedMessage | None] = []
    thread = threading.Thread(target=lambda: found.append(lanes.take()))
    thread.start()
    thread.join(_AT_ONCE)
    waits = thread.is_alive()
    lanes.close()
    thread.join()
    return waits


def test_different_aggregates_are_in_hand_side_by_side() -> None:
    lanes = some_lanes()
    messages = [a_received("a", 1), a_received("b", 2)]
    for message in messages:
        lanes.put(message)

    assert [taken(lanes), taken(lanes)] == messages


def test_events_of_one_aggregate_are_in_hand_one_after_the_other() -> None:
    lanes = some_lanes()
    first, second = a_received("a", 1), a_received("a", 2)
    for message in (first, second):
        lanes.put(message)

    assert taken(lanes) is first
    lanes.settled(first)
    assert taken(lanes) is second


def test_the_next_of_an_aggregate_waits_for_the_one_in_hand() -> None:
    lanes = some_lanes()
    for tag in (1, 2):
        lanes.put(a_received("a", tag))
    taken(lanes)

    assert nothing_to_take(lanes)


def test_what_rests_holds_up_its_aggregate_and_no_other_one() -> None:
    lanes = some_lanes()
    first, second, other = a_received("a", 1), a_received("a", 2), a_received("b", 3)
    for message in (first, second):
        lanes.put(message)
    begun = time.monotonic()
    lanes.hold(taken(lanes), begun + 0.1)
    lanes.put(other)

    assert taken(lanes) is other
    assert time.monotonic() - begun < 0.1
    assert taken(lanes) is first
    assert time.monotonic() - begun >= 0.1
    lanes.settled(first)
    assert taken(lanes) is second


def test_who_waits_wakes_up_for_the_rest_that_ends_first() -> None:
    lanes = some_lanes()
    late, soon = a_received("a", 1), a_received("b", 2)
    for message in (late, soon):
        lanes.put(message)
    now = time.monotonic()
    lanes.hold(taken(lanes), now + 60)
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(lanes.take)
        assert found.result(5) is soon
        waiting = thread.submit(lanes.take)
        lanes.hold(soon, now + 0.05)
        assert waiting.result(5) is soon


def test_what_is_to_be_alone_waits_for_the_others_and_they_for_it() -> None:
    lanes = some_lanes()
    first, alone, after = a_received("a", 1), a_received("b", 2, returns=1), a_received("c", 3)
    for message in (first, alone, after):
        lanes.put(message)
    assert taken(lanes) is first
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lanes.take)
        assert not waiting.done()
        lanes.settled(first)
        assert waiting.result(5) is alone
        waiting = thread.submit(lanes.take)
        assert not waiting.done()
        lanes.settled(alone)
        assert waiting.result(5) is after


def test_what_is_dropped_is_not_taken_but_for_what_is_in_hand() -> None:
    lanes = some_lanes()
    in_hand, behind, other = a_received("a", 1), a_received("a", 2), a_received("b", 3)
    for message in (in_hand, behind, other):
        lanes.put(message)
    assert taken(lanes) is in_hand

    lanes.drop()

    again = a_received("a", 4)
    lanes.put(again)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lanes.take)
        assert not waiting.done()
        lanes.settled(in_hand)
        assert waiting.result(5) is again


@pytest.mark.parametrize("comes_again", [True, False])
def test_what_failed_after_it_was_dropped_does_not_rest(*, comes_again: bool) -> None:
    lanes = some_lanes()
    lanes.put(a_received("a", 1))
    in_hand = taken(lanes)
    lanes.drop()
    again = a_received("a", 2)
    if comes_again:
        lanes.put(again)

    lanes.hold(in_hand, time.monotonic() + 60)

    if not comes_again:
        lanes.put(again)
    assert taken(lanes) is again


def test_what_rested_when_it_was_dropped_is_gone() -> None:
    lanes = some_lanes()
    lanes.put(a_received("a", 1))
    lanes.hold(taken(lanes), time.monotonic())

    lanes.drop()

    assert nothing_to_take(lanes)


def test_a_closed_one_gives_out_nothing() -> None:
    lanes = some_lanes()
    lanes.put(a_received("a", 1))
    message = taken(lanes)
    lanes.put(a_received("b", 2))

    lanes.close()

    assert lanes.take() is None
    assert not lanes.is_idle(within=0.01)
    lanes.settled(message)
    assert lanes.is_idle(within=0)


def test_many_threads_keep_the_order_of_each_aggregate() -> None:
    lanes = some_lanes()
    done: dict[str, list[int]] = {}
    count = 400

    def work() -> None:
        while (message := lanes.take()) is not None:
            if message.delivery_tag % 7 == 0 and message not in failed_once:
                failed_once.append(message)
                lanes.hold(message, time.monotonic() + 0.001)
                continue
            done.setdefault(message.lane, []).append(message.delivery_tag)
            lanes.settled(message)
            if sum(map(len, done.values())) == count:
                lanes.close()

    failed_once: list[ReceivedMessage] = []
    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(work) for _ in range(8)]
        for tag in range(count):
            lanes.put(a_received(f"a-{tag % 5}", tag))
        for each in working:
            each.result(30)

    for number in range(5):
        assert done[f"a-{number}"] == list(range(number, count, 5))
