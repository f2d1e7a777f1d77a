"""Ids from segments: each once, none left out, and no wait that cannot end."""

import contextlib
import datetime as dt
import gc
import itertools
import logging
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pragmatic_ddd.application.identifiers import SegmentIdGenerator, segments
from pragmatic_ddd.errors import IdAllocationError, UnknownIdSequenceError
from pragmatic_ddd.ports.identifiers import LARGEST_ID, IdSegment
from tests.script import needs_fork
from tests.unit.application.identifiers.stand_ins import (
    AWAY,
    LaterThreads,
    WatchedAllocator,
    at_once,
    no_thread,
)

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_NO_PATIENCE = dt.timedelta()


def _ids(ids: SegmentIdGenerator, count: int) -> list[int]:
    return [ids.next_id() for _ in range(count)]


def test_ids_rise_from_the_first_of_the_sequence() -> None:
    ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="other", segment_size=3)

    assert _ids(ids, 10) == list(range(500, 510))


def test_the_next_segment_is_reserved_when_half_of_the_present_one_is_left() -> None:
    allocator, threads = WatchedAllocator(), LaterThreads()
    ids = SegmentIdGenerator(
        allocator=allocator, sequence="test", segment_size=10, start=threads.start
    )
    _reserve(ids, threads)

    _ids(ids, 4)
    assert threads.works == []
    _ids(ids, 1)
    assert len(threads.works) == 1
    _ids(ids, 5)
    assert len(threads.works) == 1, "one is on its way"
    threads.run()

    assert [each.first for each in allocator.segments] == [1, 11]
    assert _ids(ids, 4) == [11, 12, 13, 14]
    assert threads.works == []


def _reserve(ids: SegmentIdGenerator, threads: LaterThreads) -> None:
    reserving = threading.Thread(target=ids.reserve)
    reserving.start()
    while not threads.works:
        reserving.join(0.001)
    threads.run()
    reserving.join()


def test_as_many_ids_are_reserved_as_a_unit_of_work_will_need() -> None:
    allocator = WatchedAllocator()
    ids = SegmentIdGenerator(allocator=allocator, sequence="test", segment_size=10, start=at_once)
    ids.reserve(3)
    ids.reserve(25)

    allocator.error = AWAY
    assert _ids(ids, 25) == list(range(1, 26))
    assert [each.size for each in allocator.segments] == [10, 15]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_after_an_interrupt_wherever_it_comes_ids_go_on_and_none_comes_twice(size: int) -> None:
    for lines in itertools.count(1):
        ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="test", segment_size=size)
        taken = [ids.next_id()]
        with _interrupt_after(lines) as met:
            taken += _ids(ids, size)
        taken += _ids(ids, 3 * size)

        assert len(set(taken)) == len(taken), met
        if not met:
            break
    assert lines > 10


def test_nobody_waits_for_a_thread_whose_start_was_interrupted() -> None:
    def interrupted(name: str, work: object) -> threading.Thread:
        raise KeyboardInterrupt(name, work)

    ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="test", start=interrupted)
    with pytest.raises(KeyboardInterrupt):
        ids.next_id()

    ids.start = at_once
    assert ids.next_id() == 1


@contextlib.contextmanager
def _interrupt_after(lines: int) -> Iterator[list[int]]:
    """Raise once so many lines of the generator's module have run, as a signal's handler does."""
    met: list[int] = []
    left = lines

    def trace(frame: types.FrameType, event: str, _: object) -> "TraceFunction | None":
        nonlocal left
        if frame.f_code.co_filename != segments.__file__:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                met.append(frame.f_lineno)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield met
    except KeyboardInterrupt:
        assert met
    finally:
        sys.settrace(before)


def test_inside_a_transaction_that_it_would_wait_for_nobody_waits() -> None:
    allocator, threads = WatchedAllocator(waits_for_caller=True), LaterThreads()
    ids = SegmentIdGenerator(
        allocator=allocator,
        sequence="test",
        segment_size=2,
        patience=dt.timedelta(seconds=20),
        start=threads.start,
    )

    with pytest.raises(IdAllocationError, match="end it and try again") as refusal:
        ids.next_id()

    assert refusal.value.retryable
    threads.run()  # the transaction has ended, and lets the thread go on
    assert _ids(ids, 2) == [1, 2]
    with pytest.raises(IdAllocationError):
        ids.next_id()


def test_who_has_ids_at_hand_may_be_in_a_transaction() -> None:
    allocator = WatchedAllocator(waits_for_caller=True)
    ids = SegmentIdGenerator(allocator=allocator, sequence="test", start=at_once)

    assert _ids(ids, 3) == [1, 2, 3]


def test_patience_ends_and_the_segment_is_used_when_it_comes() -> None:
    threads = LaterThreads()
    ids = SegmentIdGenerator(
        allocator=WatchedAllocator(), sequence="test", patience=_NO_PATIENCE, start=threads.start
    )

    for _ in range(2):
        with pytest.raises(IdAllocationError, match="no segment could be reserved in 0 s"):
            ids.next_id()
    assert len(threads.works) == 1
    threads.run()

    assert ids.next_id() == 1


def test_who_waits_is_told_why_there_is_none(caplog: pytest.LogCaptureFixture) -> None:
    ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="tset")

    with pytest.raises(UnknownIdSequenceError, match="tset"):
        ids.next_id()

    assert caplog.records == []


def test_each_thread_that_waits_is_told_in_an_error_of_its_own() -> None:
    class NoSuchRowError(UnknownIdSequenceError):
        def __init__(self, table: str) -> None:
            super().__init__("test", f"{table} has no such row")
            self.table = table

    away = NoSuchRowError("ids")
    threads, looks_at_the_clock = LaterThreads(), threading.Semaphore(0)

    def clock() -> float:
        looks_at_the_clock.release()
        return 0.0

    ids = SegmentIdGenerator(
        allocator=WatchedAllocator(error=away),
        sequence="test",
        start=threads.start,
        monotonic=clock,
    )
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(ids.next_id) for _ in range(2)]
        for _ in range(2 * len(calls)):  # each looks again before it waits, and lets the lock go
            assert looks_at_the_clock.acquire(timeout=30)
        threads.run()
        told = [call.exception() for call in calls]

    assert [type(error) for error in told] == [NoSuchRowError] * 2
    assert [(str(error), vars(error)) for error in told] == [(str(away), vars(away))] * 2
    assert told[0] is not told[1]
    assert [error.__cause__ for error in told if error] == [away, away]


def test_a_mistake_in_the_allocator_is_raised_as_it_is() -> None:
    mistake = ZeroDivisionError("division by zero")
    ids = SegmentIdGenerator(allocator=WatchedAllocator(error=mistake), sequence="test")

    with pytest.raises(ZeroDivisionError) as raised:
        ids.next_id()

    assert raised.value is mistake
    assert mistake.__cause__ is None


def test_a_failure_ahead_is_logged_and_tried_again_a_little_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 100.0
    allocator = WatchedAllocator()
    ids = SegmentIdGenerator(
        allocator=allocator,
        sequence="test",
        segment_size=10,
        start=at_once,
        monotonic=lambda: now,
    )
    ids.reserve()
    allocator.error = AWAY

    with caplog.at_level(logging.WARNING):
        assert _ids(ids, 7) == [1, 2, 3, 4, 5, 6, 7]
    assert [record.getMessage() for record in caplog.records] == [
        "ids of test: no segment could be reserved ahead, 5 left; it will be tried again"
    ]
    now += 1.0
    allocator.error = None
    _ids(ids, 1)

    assert len(allocator.segments) == 2


def test_when_none_is_left_each_call_tries_again() -> None:
    allocator = WatchedAllocator(error=AWAY)
    ids = SegmentIdGenerator(allocator=allocator, sequence="test")
    for _ in range(2):
        with pytest.raises(IdAllocationError, match="the database is away"):
            ids.next_id()

    allocator.error = None

    assert ids.next_id() == 1


def test_without_a_thread_to_be_had_what_is_at_hand_is_handed_out() -> None:
    ids = SegmentIdGenerator(
        allocator=WatchedAllocator(), sequence="test", segment_size=2, start=at_once
    )
    ids.reserve()
    ids.start = no_thread

    assert _ids(ids, 2) == [1, 2]
    with pytest.raises(IdAllocationError, match=r"no thread .*: can't start new thread"):
        ids.next_id()


def test_a_thread_whose_start_was_interrupted_is_not_waited_for() -> None:
    def interrupted(name: str, work: Callable[[], None]) -> threading.Thread:
        raise KeyboardInterrupt

    ids = SegmentIdGenerator(
        allocator=WatchedAllocator(), sequence="test", patience=_NO_PATIENCE, start=interrupted
    )
    with pytest.raises(KeyboardInterrupt):
        ids.next_id()
    ids.start = at_once

    assert ids.next_id() == 1


@given(
    size=st.integers(1, 6),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("take"), st.integers(1, 9)),
            st.tuples(st.just("reserve"), st.integers(1, 20)),
            st.tuples(st.sampled_from(["fail", "mend", "threads"]), st.just(0)),
        ),
        max_size=30,
    ),
)
@settings(deadline=None, derandomize=True)
def test_whatever_happens_ids_come_in_order_and_none_is_left_out(
    size: int, steps: list[tuple[str, int]]
) -> None:
    allocator, threads, taken = WatchedAllocator(), LaterThreads(), 0
    ids = SegmentIdGenerator(
        allocator=allocator,
        sequence="test",
        segment_size=size,
        patience=_NO_PATIENCE,
        start=threads.start,
    )

    for step, count in steps:
        try:
            if step == "take":
                for _ in range(count):
                    assert ids.next_id() == taken + 1
                    taken += 1
            elif step == "reserve":
                ids.reserve(count)
            elif step == "threads":
                threads.run()
            else:
                allocator.error = AWAY if step == "fail" else None
        except IdAllocationError:
            pass

    reserved = sum(each.size for each in allocator.segments)
    assert taken <= reserved
    allocator.error = AWAY
    assert _ids(ids, reserved - taken) == list(range(taken + 1, reserved + 1))


def test_eight_threads_get_each_id_once() -> None:
    allocator = WatchedAllocator()
    ids = SegmentIdGenerator(allocator=allocator, sequence="test", segment_size=7)

    with ThreadPoolExecutor(8) as pool:
        taken = [number for some in pool.map(lambda _: _ids(ids, 500), range(8)) for number in some]

    assert sorted(taken) == list(range(1, 4001))


@needs_fork
def test_a_forked_child_begins_with_nothing_at_hand() -> None:
    allocator = WatchedAllocator()
    ids = SegmentIdGenerator(allocator=allocator, sequence="test")
    _ids(ids, 3)
    child = os.fork()
    if child == 0:
        allocator._memory._process = os.getpid()  # this one may go on
        os._exit(ids.next_id() % 250)

    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert code == 1001 % 250
    assert ids.next_id() == 4


@needs_fork
def test_a_child_forked_while_a_thread_hands_out_ids_is_not_stuck() -> None:
    allocator = WatchedAllocator()
    ids = SegmentIdGenerator(allocator=allocator, sequence="test", segment_size=5)
    with ids._changed:  # a lock that nobody in the child will let go
        child = os.fork()
        if child == 0:
            allocator._memory._process = os.getpid()  # this one may go on
            taking = threading.Thread(target=ids.next_id, daemon=True)
            taking.start()
            taking.join(20)
            os._exit(int(taking.is_alive()))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_generator_that_nobody_needs_is_forgotten() -> None:
    ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="test", start=at_once)
    ids.next_id()
    before = len([each for each in gc.get_objects() if isinstance(each, SegmentIdGenerator)])
    del ids
    gc.collect()

    after = len([each for each in gc.get_objects() if isinstance(each, SegmentIdGenerator)])
    assert after < before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"segment_size": 0}, "segment_size = 0: at least 1"),
        ({"segment_size": 2.5}, "segment_size = 2.5: give an int"),
        ({"sequence": " "}, "sequence = ' ': say it"),
        ({"sequence": 7}, "sequence = 7: give a str"),
        ({"patience": 5}, "patience = 5: give a timedelta"),
        ({"patience": -dt.timedelta.resolution}, "'patience' must be >= 0:00:00"),
        ({"allocator": WatchedAllocator}, "give an object made of it"),
        ({"allocator": object()}, "this has no allocate, would_wait_for_caller"),
    ],
)
def test_what_it_is_made_of_is_checked(given: dict[str, object], message: str) -> None:
    parts = {"allocator": WatchedAllocator(), "sequence": "test", **given}

    with pytest.raises((TypeError, ValueError), match=message):
        SegmentIdGenerator(**parts)  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("count", [0, -5])
def test_nothing_cannot_be_reserved(count: int) -> None:
    ids = SegmentIdGenerator(allocator=WatchedAllocator(), sequence="test")

    with pytest.raises(ValueError, match=f"count = {count}: at least 1"):
        ids.reserve(count)


@pytest.mark.parametrize(
    ("first", "last"), [(0, 5), (-3, -1), (6, 5), (1, LARGEST_ID + 1), (LARGEST_ID + 1, 1)]
)
def test_a_segment_is_a_range_of_ids_that_can_be(first: int, last: int) -> None:
    with pytest.raises(ValueError, match=f"segment {first} to {last}"):
        IdSegment("test", first, last)


def test_a_segment_knows_its_size() -> None:
    assert IdSegment("test", 5, 5).size == 1
    assert IdSegment("test", 1, LARGEST_ID).size == LARGEST_ID
