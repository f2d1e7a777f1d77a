from pragmatic_ddd.application.outbox.lane import Lane
from tests.unit.application.outbox.builders import a_claim, owned, unowned


def a_lane(*, give_up_at: float = 30.0) -> Lane:
    return Lane(aggregate=("shop.order", "1"), give_up_at=give_up_at)


def rows(lane: Lane) -> list[int]:
    return [one.id for one in lane.waiting]


def test_messages_wait_in_the_order_of_their_rows_however_they_were_announced() -> None:
    lane = a_lane()

    for row in (2, 1, 4, 3):
        assert lane.add(unowned(row), 30.0) == 0

    assert rows(lane) == [1, 2, 3, 4]


def test_what_was_announced_late_goes_before_its_successor() -> None:
    lane = a_lane()
    lane.add(unowned(2), 30.0)

    lane.add(owned(1), 30.0)

    assert lane.is_owned
    assert [claim.id for claim in lane.take_owned()] == [1]
    assert rows(lane) == [2], "the successor is still to be claimed"


def test_what_stands_before_an_owned_message_without_an_owner_was_settled_by_others() -> None:
    lane = a_lane()
    lane.add(unowned(1), 30.0)
    lane.add(unowned(2), 30.0)

    assert lane.add(owned(3), 30.0) == 2

    assert rows(lane) == [3]


def test_an_announcement_that_comes_after_others_have_settled_it_is_dropped() -> None:
    lane = a_lane()
    lane.add(owned(2), 30.0)

    assert lane.add(unowned(1), 30.0) == 1

    assert rows(lane) == [2]


def test_a_message_that_is_announced_twice_is_held_once() -> None:
    lane = a_lane()
    lane.add(owned(1), 30.0)
    lane.add(owned(2), 30.0)

    assert lane.add(owned(2), 30.0) == 1

    assert rows(lane) == [1, 2]


def test_owned_messages_at_the_head_are_taken_together() -> None:
    lane = a_lane()
    for one in (owned(1), owned(2), unowned(3), unowned(4)):
        lane.add(one, 30.0)

    assert [claim.id for claim in lane.take_owned()] == [1, 2]
    assert lane.sending == 2
    assert not lane.is_owned
    assert lane.unowned_ids(10) == [3, 4]
    assert lane.unowned_ids(1) == [3]


def test_only_the_head_is_claimed() -> None:
    lane = a_lane()
    lane.add(owned(1), 30.0)
    lane.add(unowned(2), 30.0)

    assert lane.unowned_ids(10) == []


def test_a_claim_of_the_head_leaves_the_rest_to_be_claimed_later() -> None:
    lane = a_lane()
    lane.add(unowned(1), 30.0)
    lane.add(unowned(2), 30.0)

    assert lane.accept([a_claim(1)]) == 0

    assert lane.is_owned
    assert [claim.id for claim in lane.take_owned()] == [1]
    assert lane.unowned_ids(10) == [2]


def test_a_claim_says_that_what_stands_before_it_was_settled() -> None:
    lane = a_lane()
    for row in (1, 2, 3):
        lane.add(unowned(row), 30.0)

    assert lane.accept([a_claim(3)]) == 2

    assert [claim.id for claim in lane.take_owned()] == [3]


def test_no_claim_is_forgotten_though_its_message_no_longer_waits() -> None:
    lane = a_lane()
    lane.add(unowned(2), 30.0)

    assert lane.accept([a_claim(1), a_claim(2)]) == -1

    assert [claim.id for claim in lane.take_owned()] == [1, 2]


def test_claims_are_tried_again_later_each_time_at_most_a_second_apart() -> None:
    lane = a_lane()

    pauses = []
    for _ in range(7):
        lane.postpone(100.0)
        pauses.append(round(lane.claim_at - 100.0, 6))

    assert pauses == [0.005, 0.02, 0.08, 0.3, 1.0, 1.0, 1.0]


def test_a_lane_that_gets_on_claims_at_once() -> None:
    lane = a_lane()
    for _ in range(5):
        lane.postpone(100.0)

    lane.get_on()

    assert lane.claim_at == 0.0
    lane.postpone(100.0)
    assert round(lane.claim_at - 100.0, 6) == 0.005


def test_a_lane_that_does_not_get_on_is_given_up_whatever_is_stored_behind_it() -> None:
    lane = a_lane(give_up_at=30.0)

    lane.add(unowned(1), 30.0)
    lane.add(unowned(2), 55.0)
    assert lane.give_up_at == 30.0

    lane.get_on()
    assert lane.give_up_at == 55.0
