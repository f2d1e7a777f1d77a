"""How many batches are claimed beside one that is being sent."""

import threading
from collections.abc import Callable, Sequence

import pytest

from pragmatic_ddd.application.outbox.claims_ahead import ClaimsAhead
from pragmatic_ddd.application.outbox.task import Task, start_task
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import ClaimedMessage
from tests.unit.application.outbox.builders import (
    DEADLINE,
    a_message,
    ctrl_c_at_wait,
)

_SIZE = 2


def a_batch(number: int, size: int = _SIZE) -> list[ClaimedMessage]:
    return [
        ClaimedMessage(id=number * 10 + place, message=a_message("m"), claim_token="t", deadline=1)
        for place in range(size)
    ]


def one_after_the_other(
    answers: Sequence[list[ClaimedMessage] | Exception],
) -> Callable[[], list[ClaimedMessage]]:
    """Return a claim that brings, or raises, what is given."""
    left = iter(answers)

    def claim() -> list[ClaimedMessage]:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return claim


def begun(ahead: ClaimsAhead, *, one_only: bool = False) -> int:
    """Begin claims that bring nothing, and return how many there are."""
    calls: list[None] = []

    def claim() -> list[ClaimedMessage]:
        calls.append(None)
        return []

    ahead.begin(claim, one_only=one_only)
    for one in ahead._claims:
        one.take()
    ahead._claims.clear()
    return len(calls)


def waited_for(ahead: ClaimsAhead) -> None:
    """Wait until each claim is over, so that the next one begins after it."""
    for one in ahead._claims:
        if one._task is not None:
            one._task.join()


def test_two_batches_come_in_the_order_in_which_they_were_begun() -> None:
    ahead = ClaimsAhead()
    batches = [a_batch(number) for number in range(3)]
    claim = one_after_the_other(batches)

    ahead._most = 1
    ahead.begin(claim)
    waited_for(ahead)
    ahead._most = 2
    ahead.begin(claim)

    assert ahead.take() == batches[0]
    assert ahead.take() == batches[1]
    assert ahead.take() == []


def test_what_is_under_way_counts() -> None:
    ahead = ClaimsAhead()
    calls: list[None] = []

    def claim() -> list[ClaimedMessage]:
        calls.append(None)
        return a_batch(len(calls))

    ahead.begin(claim)
    ahead.begin(claim)
    ahead.take()
    ahead.begin(claim)
    ahead.take_all([])

    assert len(calls) == 3


def test_a_batch_that_is_not_full_means_one_less() -> None:
    ahead = ClaimsAhead()

    ahead.learn_from(_SIZE - 1, _SIZE)
    assert begun(ahead) == 1
    ahead.learn_from(_SIZE - 1, _SIZE)
    assert begun(ahead) == 0
    ahead.learn_from(_SIZE - 1, _SIZE)
    assert begun(ahead) == 0
    assert begun(ahead, one_only=True) == 0


def test_claims_that_bring_nothing_mean_less() -> None:
    ahead = ClaimsAhead()
    ahead.begin(list)

    assert ahead.take() == []

    assert begun(ahead) == 0


def test_full_batches_in_a_row_mean_one_more() -> None:
    ahead = ClaimsAhead()
    ahead.learn_from(1, _SIZE)
    ahead.learn_from(1, _SIZE)

    for _ in range(15):
        ahead.learn_from(_SIZE, _SIZE)
    assert begun(ahead) == 0
    ahead.learn_from(_SIZE, _SIZE)
    assert begun(ahead) == 1
    for _ in range(16):
        ahead.learn_from(_SIZE, _SIZE)
    assert begun(ahead) == 2


def test_one_that_is_not_full_ends_the_row() -> None:
    ahead = ClaimsAhead()
    ahead.learn_from(1, _SIZE)
    ahead.learn_from(1, _SIZE)

    for size in (*[_SIZE] * 15, 1, *[_SIZE] * 15):
        ahead.learn_from(size, _SIZE)

    assert begun(ahead) == 0


def test_there_is_one_at_most_where_one_is_asked_for() -> None:
    assert begun(ClaimsAhead(), one_only=True) == 1


def test_after_an_empty_outbox_there_are_as_many_as_there_may_be() -> None:
    ahead = ClaimsAhead()
    ahead.learn_from(1, _SIZE)
    ahead.learn_from(1, _SIZE)

    ahead.learn_from(0, _SIZE)

    assert begun(ahead) == 2


def test_one_that_fails_leaves_the_others_to_be_taken() -> None:
    ahead = ClaimsAhead()
    batch = a_batch(1)
    claim = one_after_the_other([OutboxStoreError("away"), batch])
    ahead._most = 1
    ahead.begin(claim)
    waited_for(ahead)
    ahead._most = 2
    ahead.begin(claim)

    with pytest.raises(OutboxStoreError, match="away"):
        ahead.take()

    assert ahead.take() == batch


def test_all_are_taken_but_those_that_failed() -> None:
    ahead = ClaimsAhead()
    batch = a_batch(1)
    ahead.begin(one_after_the_other([OutboxStoreError("away"), batch]))

    taken: list[ClaimedMessage] = []
    ahead.take_all(taken)

    assert taken == batch


def test_without_a_thread_nothing_is_claimed_ahead_and_nothing_learnt() -> None:
    def no_more(_: Task) -> None:
        raise RuntimeError("can't start new thread")

    ahead = ClaimsAhead(start=no_more)
    ahead.begin(list)
    assert ahead.take() == []

    ahead.start = start_task
    assert begun(ahead) == 2


def test_ctrl_c_while_all_are_taken_loses_none() -> None:
    ahead, gate = ClaimsAhead(), threading.Event()
    batches = [a_batch(1), a_batch(2)]
    ahead._most = 1
    ahead.begin(lambda: batches[0])
    waited_for(ahead)

    def waits() -> list[ClaimedMessage]:
        assert gate.wait(DEADLINE.total_seconds())
        return batches[1]

    ahead._most = 2
    ahead.begin(waits)
    taken: list[ClaimedMessage] = []
    with ctrl_c_at_wait(2):
        ahead.take_all(taken)
    assert taken == batches[0]
    gate.set()
    ahead.take_all(taken)

    assert taken == [*batches[0], *batches[1]]
