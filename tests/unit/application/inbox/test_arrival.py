import pytest

from pragmatic_ddd.application.inbox.arrival import arrival_of, fetched_arrival_of
from pragmatic_ddd.ports import EventGap, EventPlace
from pragmatic_ddd.ports.event_place import BEFORE_ALL
from tests.unit.application.inbox.stories import OrderPaid, brought, paid


def test_an_arrival_says_what_its_message_says() -> None:
    arrival = arrival_of(brought(paid(5), previous="3.1"), "ship")

    assert (arrival.subscriber, arrival.message_id) == ("ship", "1-5.0")
    assert (arrival.aggregate_type, arrival.aggregate_id) == ("test.order", "1")
    assert arrival.place == EventPlace(version=5)
    assert arrival.previous == EventPlace(version=3, index=1)
    assert arrival.unplaced_because == ""


def test_nothing_is_before_the_first_event() -> None:
    assert arrival_of(brought(paid(1), previous="0.0"), "ship").previous == BEFORE_ALL


def test_what_nobody_says_is_not_made_up() -> None:
    assert arrival_of(brought(paid(5)), "ship").previous is None
    assert arrival_of(brought(paid(1)), "ship").previous is None


def test_events_of_one_version_are_known_to_follow_each_other() -> None:
    arrival = arrival_of(brought(paid(5, index=2)), "ship")

    assert arrival.previous == EventPlace(version=5, index=1)


def test_an_epoch_is_part_of_the_place() -> None:
    arrival = arrival_of(brought(paid(2), previous="1.0", epoch="3"), "ship")

    assert arrival.place == EventPlace(epoch=3, version=2)
    assert arrival.previous == EventPlace(epoch=3, version=1)


@pytest.mark.parametrize("previous", ["5.0", "1.0", "1.7"])
def test_a_place_before_that_is_not_lower_is_of_the_epoch_before(previous: str) -> None:
    arrival = arrival_of(brought(paid(1), previous=previous, epoch="1"), "ship")

    assert arrival.previous == EventPlace.parse(previous, epoch=0)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (paid(5), "no message has brought it"),
        (brought(paid(5), aggregate_type=""), "does not say what its aggregate is"),
        (brought(OrderPaid(aggregate_id="1")), "it has no version"),
        (brought(paid(5), previous="five"), "header previousplace = 'five': 'five': a version"),
        (brought(paid(5), previous="5.0"), "header previousplace = '5.0': it is not before 5.0"),
        (brought(paid(5), epoch="-1"), "header aggregateepoch = '-1': a whole number"),
        (brought(paid(5), epoch="9" * 20), "header aggregateepoch"),
        (brought(paid(2**63)), "'version' must be <= 9223372036854775807"),
        (brought(paid(5, index=2**31)), "'index' must be <= 2147483647"),
        (brought(paid(5), previous="4.9999999999"), "'index' must be <= 2147483647"),
    ],
)
def test_an_event_without_a_place_says_why(event: OrderPaid, why: str) -> None:
    arrival = arrival_of(event, "ship")

    assert arrival.place is None
    assert arrival.previous is None
    assert why in arrival.unplaced_because
    assert arrival.message_id == event.event_id


def test_what_was_fetched_has_its_place_within_the_aggregate_of_the_gap() -> None:
    gap = EventGap(
        arrival=arrival_of(brought(paid(5), previous="3.0", epoch="1"), "ship"), last=None
    )

    arrival = fetched_arrival_of(paid(3), gap)

    assert arrival.subscriber == "ship"
    assert arrival.aggregate_type == "test.order"
    assert arrival.place == EventPlace(epoch=1, version=3)
    assert arrival.previous is None


def test_of_what_was_fetched_the_events_of_one_version_follow_each_other() -> None:
    gap = EventGap(arrival=arrival_of(brought(paid(5), previous="3.1"), "ship"), last=None)

    assert fetched_arrival_of(paid(3, index=1), gap).previous == EventPlace(version=3)
    assert fetched_arrival_of(paid(3), gap).previous is None


def test_what_was_fetched_of_the_aggregate_that_had_the_id_before_is_of_its_epoch() -> None:
    arrival = arrival_of(brought(paid(1), previous="5.1", epoch="2"), "ship")
    gap = EventGap(arrival=arrival, last=EventPlace(epoch=1, version=3))

    assert fetched_arrival_of(paid(4), gap).place == EventPlace(epoch=1, version=4)
    assert fetched_arrival_of(paid(5, index=1), gap).place == EventPlace(
        epoch=1, version=5, index=1
    )


def test_what_was_fetched_with_its_message_says_it_itself() -> None:
    gap = EventGap(arrival=arrival_of(brought(paid(5), previous="3.0"), "ship"), last=None)

    assert fetched_arrival_of(brought(paid(3), previous="2.0"), gap).previous is not None


def test_what_was_fetched_without_a_version_has_no_place() -> None:
    gap = EventGap(arrival=arrival_of(brought(paid(5), previous="3.0"), "ship"), last=None)

    assert "no version" in fetched_arrival_of(OrderPaid(aggregate_id="1"), gap).unplaced_because
