import threading
from collections.abc import Iterator

import attrs
import pytest

from pragmatic_ddd.application.outbox.finished_lane import FinishedLane
from pragmatic_ddd.application.outbox.lane import Lane
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.ports import ClaimedMessage, Delivered, FailedTry, StoredMessage
from tests.unit.application.outbox.builders import DEADLINE, a_claim, owned, unowned

LONG = 30.0


@attrs.define
class Seconds:
    reading: float = 1000.0

    def __call__(self) -> float:
        return self.reading


@pytest.fixture
def now() -> Seconds:
    return Seconds()


@pytest.fixture
def board(now: Seconds) -> Iterator[LaneBoard]:
    board = LaneBoard(100, now)
    yield board
    board.close(abort=True)


def put(board: LaneBoard, *stored: StoredMessage) -> None:
    assert board.put(stored, token=None, give_up_at=board.monotonic() + LONG)


def run(board: LaneBoard) -> tuple[Lane, list[ClaimedMessage]]:
    taken = board.next_run()
    assert taken is not None
    return taken


def all_sent(claims: list[ClaimedMessage]) -> Settlement:
    outcome = Settlement()
    outcome.sent += [Delivered(claimed=one, receipt="") for one in claims]
    return outcome


def first_failed(claims: list[ClaimedMessage]) -> Settlement:
    outcome = Settlement()
    outcome.failed.append(FailedTry(claimed=claims[0], error="no"))
    outcome.untried += claims[1:]
    return outcome


def settle(board: LaneBoard) -> list[StoredMessage]:
    finished = board.take_finished()
    assert finished is not None
    return [one for done in finished for one in board.advance(done)]


def ids(messages: list[ClaimedMessage] | list[StoredMessage]) -> list[int]:
    return [one.id for one in messages]


def held(board: LaneBoard) -> int:
    return board._room.held


def is_empty(board: LaneBoard) -> bool:
    return not (
        board._room.held
        or board._lanes._by_aggregate
        or board._lanes._ready
        or board._lanes._left_behind
        or board._finished
        or board._sending
    )


def test_an_owned_message_is_ready_at_once(board: LaneBoard) -> None:
    put(board, owned(1))

    lane, claims = run(board)

    assert ids(claims) == [1]
    board.finish(lane, all_sent(claims))
    assert settle(board) == []
    assert is_empty(board)


def test_each_aggregate_has_a_lane_of_its_own(board: LaneBoard) -> None:
    put(board, owned(1, of="a"), owned(2, of="b"), owned(3, of="a"))

    assert ids(run(board)[1]) == [1, 3]
    assert ids(run(board)[1]) == [2]


def test_what_is_stored_while_its_lane_is_sending_waits_for_it(board: LaneBoard) -> None:
    put(board, owned(1))
    lane, claims = run(board)

    put(board, owned(2))
    assert not board._lanes._ready, "no second thread sends for the same aggregate"

    board.finish(lane, all_sent(claims))
    assert not board._lanes._ready, "not before its predecessor is settled"
    settle(board)
    assert ids(run(board)[1]) == [2]


def test_a_successor_without_an_owner_is_claimed_as_soon_as_its_predecessor_is_settled(
    board: LaneBoard, now: Seconds
) -> None:
    put(board, owned(1))
    lane, claims = run(board)
    put(board, unowned(2))
    board.finish(lane, all_sent(claims))

    settle(board)

    (due,) = board.due_claims(100)
    assert due.ids == [2]


def test_a_successor_that_was_tried_in_vain_does_not_wait_out_its_pause(
    board: LaneBoard, now: Seconds
) -> None:
    put(board, unowned(2))
    for _ in range(6):
        (due,) = board.due_claims(100)
        board.claimed(due.lane, [])
        now.reading += 1.0
    (due,) = board.due_claims(100)
    board.claimed(due.lane, [])  # the next try is a second away
    put(board, owned(1))  # announced late

    lane, claims = run(board)
    assert ids(claims) == [1]
    board.finish(lane, all_sent(claims))
    settle(board)

    assert [one.ids for one in board.due_claims(100)] == [[2]]


def test_after_a_failure_the_rest_of_the_lane_is_given_up(board: LaneBoard) -> None:
    put(board, owned(1), owned(2))
    lane, claims = run(board)
    put(board, unowned(3))
    board.finish(lane, first_failed(claims))

    given_up = settle(board)

    assert ids(given_up) == [3]
    assert held(board) == 1, "until it was given back"
    board.let_go(1)
    assert is_empty(board)


def test_what_has_no_owner_is_claimed_and_then_ready(board: LaneBoard) -> None:
    put(board, unowned(1), unowned(2))

    (due,) = board.due_claims(100)
    assert due.ids == [1, 2]
    board.claimed(due.lane, [a_claim(1), a_claim(2)])

    assert ids(run(board)[1]) == [1, 2]


def test_what_turns_out_to_be_settled_takes_no_room(board: LaneBoard) -> None:
    put(board, unowned(1), unowned(2))
    (due,) = board.due_claims(100)

    board.claimed(due.lane, [a_claim(2)])
    assert held(board) == 1
    put(board, unowned(1))
    assert held(board) == 1

    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    settle(board)
    assert is_empty(board)


def test_a_claim_in_vain_is_tried_again_later(board: LaneBoard, now: Seconds) -> None:
    put(board, unowned(1))
    (due,) = board.due_claims(100)
    board.claimed(due.lane, [])

    assert board.due_claims(100) == []
    now.reading += 0.005
    assert len(board.due_claims(100)) == 1


def test_claims_are_limited_and_the_rest_comes_next(board: LaneBoard) -> None:
    put(board, *[unowned(row, of="a") for row in range(1, 6)])
    put(board, *[unowned(row, of="b") for row in range(6, 9)])

    (first,) = board.due_claims(3)
    (second,) = board.due_claims(100)

    assert first.ids == [1, 2, 3]
    assert second.ids == [6, 7, 8]


def test_the_rows_to_claim_are_read_while_nobody_can_change_them(board: LaneBoard) -> None:
    put(board, unowned(1))

    (due,) = board.due_claims(100)
    put(board, unowned(2))

    assert due.ids == [1]
    board.claimed(due.lane, [a_claim(1)])
    lane, claims = run(board)
    assert ids(claims) == [1]
    board.finish(lane, all_sent(claims))
    settle(board)
    assert [one.ids for one in board.due_claims(100)] == [[2]]


def test_a_lane_that_is_being_claimed_is_nowhere_else(board: LaneBoard) -> None:
    put(board, unowned(1))
    (due,) = board.due_claims(100)

    put(board, owned(2))  # 1 was sent by somebody else meanwhile

    assert not board._lanes._ready
    assert board.due_claims(100) == []
    board.claimed(due.lane, [])
    assert ids(run(board)[1]) == [2]
    assert held(board) == 1


def test_a_place_in_the_queue_of_claims_that_is_no_longer_valid_is_passed_over(
    board: LaneBoard, now: Seconds
) -> None:
    put(board, unowned(1))
    put(board, owned(2))
    lane, claims = run(board)
    assert ids(claims) == [2]

    assert board.due_claims(100) == [], "the lane left its place when it became ready"

    board.finish(lane, all_sent(claims))
    settle(board)
    assert is_empty(board)


def test_a_lane_whose_time_is_over_is_hopeless(board: LaneBoard, now: Seconds) -> None:
    put(board, unowned(1))
    assert not board.due_claims(100)[0].is_hopeless

    put(board, unowned(2, of="b"))
    now.reading += LONG
    (due,) = board.due_claims(100)

    assert due.is_hopeless
    assert ids(board.give_up(due.lane)) == [2]


def test_room_is_limited(board: LaneBoard) -> None:
    assert board.reserve("a", 60, board.monotonic() + LONG)
    put(board, *[owned(row, of=str(row)) for row in range(1, 41)])

    assert not board.reserve("b", 1, board.monotonic() + LONG)
    assert not board.put([owned(99)], token=None, give_up_at=LONG)


def test_what_was_reserved_is_redeemed_once(board: LaneBoard) -> None:
    board.reserve("a", 100, board.monotonic() + LONG)

    assert board.put([owned(1)], token="a", give_up_at=LONG)

    assert board.reserve("b", 99, board.monotonic() + LONG)
    assert not board.redeem("a")


def test_a_transaction_that_ended_without_telling_gives_its_room_back(
    board: LaneBoard, now: Seconds
) -> None:
    board.reserve("a", 100, now() + LONG)
    assert not board.reserve("b", 1, now() + LONG)

    now.reading += LONG + 1

    assert board.reserve("b", 100, now() + LONG)


def test_a_closed_board_takes_nothing_and_gives_the_rest_out(board: LaneBoard) -> None:
    board.reserve("a", 1, board.monotonic() + LONG)
    put(board, owned(1))
    board.close()

    assert not board.reserve("b", 1, board.monotonic() + LONG)
    assert not board.put([owned(2)], token="a", give_up_at=LONG)
    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    settle(board)
    assert board.next_run() is None
    assert board.take_finished() is None


def test_a_closed_board_does_not_wait_for_the_time_of_a_claim(
    board: LaneBoard, now: Seconds
) -> None:
    put(board, unowned(1))
    (due,) = board.due_claims(100)
    board.claimed(due.lane, [])
    assert not board._has_work()

    board.close()

    assert board._has_work()
    assert board.take_finished() == []
    assert len(board.due_claims(100)) == 1


def test_an_aborted_board_gives_out_nothing_more(board: LaneBoard) -> None:
    put(board, owned(1, of="a"))
    lane, claims = run(board)
    put(board, owned(2, of="b"), unowned(3, of="c"), owned(4, of="a"))

    board.close(abort=True)

    assert board.next_run() is None, "what is ready is given up, not taken"
    board.finish(lane, all_sent(claims))
    settle(board)
    assert sorted(ids(board.give_up_everything())) == [2, 3, 4]
    assert board.take_finished() is None


def test_an_aborted_board_has_not_ended_before_everything_is_given_up(board: LaneBoard) -> None:
    put(board, owned(1))
    board.close(abort=True)

    assert board.take_finished() == []

    assert ids(board.give_up_everything()) == [1]
    assert board.take_finished() is None


def test_when_everything_is_given_up_no_lane_is_left(board: LaneBoard) -> None:
    put(board, owned(1, of="a"), unowned(2, of="b"))
    board.close(abort=True)

    given_up = board.give_up_everything()

    assert ids(given_up) == [1, 2]
    board.let_go(2)
    assert is_empty(board)
    assert board.due_claims(100) == []


def test_a_lane_that_is_being_sent_ends_when_it_is_settled_though_everything_is_given_up(
    board: LaneBoard,
) -> None:
    put(board, owned(1))
    lane, claims = run(board)
    board.leave_behind([unowned(2)])
    board.close(abort=True)

    assert board.give_up_everything() == []
    assert not board.take_passed(), "nobody can take what is behind 1 before that is settled"

    board.finish(lane, all_sent(claims))
    settle(board)
    assert board.take_passed()
    assert is_empty(board)


def test_an_aborted_board_waits_for_what_is_being_sent_without_turning_in_circles(
    board: LaneBoard,
) -> None:
    put(board, owned(1, of="a"), unowned(2, of="b"))
    lane, claims = run(board)
    board.close(abort=True)
    assert board.take_finished() == [], "what is queued is given up at once"
    assert ids(board.give_up_everything()) == [2]
    answers: list[list[FinishedLane] | None] = []
    thread = threading.Thread(target=lambda: answers.append(board.take_finished()))
    thread.start()

    thread.join(0.05)
    assert answers == []

    board.finish(lane, all_sent(claims))
    thread.join(DEADLINE.total_seconds())
    assert len(answers[0] or []) == 1


def test_without_waiting_there_may_be_nothing(board: LaneBoard) -> None:
    assert board.take_finished(wait=False) == []


def test_a_waiting_worker_hears_of_what_is_put(board: LaneBoard) -> None:
    taken: list[tuple[Lane, list[ClaimedMessage]]] = []
    thread = threading.Thread(target=lambda: taken.append(run(board)))
    thread.start()

    put(board, owned(1))

    thread.join(DEADLINE.total_seconds())
    assert [claim.id for _, claims in taken for claim in claims] == [1]


def test_a_waiting_coordinator_hears_of_what_is_to_be_claimed(
    board: LaneBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    wait = board._for_coordinator.wait

    def noted(timeout: float | None = None) -> bool:
        waits.set()  # under the lock: what is put from now on finds it waiting
        return wait(timeout)

    monkeypatch.setattr(board._for_coordinator, "wait", noted)
    answers: list[list[FinishedLane] | None] = []
    thread = threading.Thread(target=lambda: answers.append(board.take_finished()))
    thread.start()
    assert waits.wait(DEADLINE.total_seconds())

    put(board, unowned(1))

    thread.join(DEADLINE.total_seconds())
    assert answers == [[]], "without a claim to come it had no time to wake up at"
    assert [one.ids for one in board.due_claims(100)] == [[1]]


def test_idle_is_when_nothing_is_held(board: LaneBoard) -> None:
    assert board.wait_until_idle(0)
    put(board, owned(1))
    assert not board.wait_until_idle(0)

    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    assert not board.wait_until_idle(0)

    settle(board)
    assert board.wait_until_idle(0)


def test_a_pause_ends_when_the_board_is_aborted(board: LaneBoard) -> None:
    thread = threading.Thread(target=lambda: board.pause(600))
    thread.start()

    board.close(abort=True)

    thread.join(DEADLINE.total_seconds())
    assert not thread.is_alive()


def test_a_lane_that_has_left_messages_behind_says_so_once_when_it_ends(board: LaneBoard) -> None:
    put(board, owned(1, of="a"), owned(2, of="b"))
    board.leave_behind([unowned(3, of="b"), unowned(4, of="of no lane")])

    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    settle(board)
    assert not board.take_passed()

    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    settle(board)
    assert board.take_passed()
    assert not board.take_passed()


def test_what_is_behind_no_lane_is_not_remembered(board: LaneBoard) -> None:
    board.leave_behind([unowned(1)])
    assert is_empty(board)

    put(board, owned(2))
    lane, claims = run(board)
    board.finish(lane, all_sent(claims))
    settle(board)

    assert not board.take_passed()


def test_a_message_without_a_version_that_an_owned_one_displaces_is_left_behind(
    board: LaneBoard,
) -> None:
    put(board, unowned(1))
    put(board, owned(2))

    lane, claims = run(board)
    assert ids(claims) == [2]
    board.finish(lane, all_sent(claims))
    settle(board)

    assert board.take_passed(), "it may have been committed after the owned one was inserted"
    assert is_empty(board)
