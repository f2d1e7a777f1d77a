"""A standstill: what arrives right after it may have waited all the time."""

import attrs
import pytest

from pragmatic_ddd_rocketmq_grpc.standstill import Standstill


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def standstill(clock: Clock) -> Standstill:
    return Standstill(clock)


def test_what_arrives_while_all_is_well_has_just_come(standstill: Standstill, clock: Clock) -> None:
    for _ in range(20):
        clock.now += 0.5
        standstill.look()

    clock.now += 0.5
    assert standstill.arrival() == clock.now


def test_what_arrives_after_a_standstill_may_have_come_at_its_begin(
    standstill: Standstill, clock: Clock
) -> None:
    clock.now += 40

    assert standstill.arrival() == 100


def test_also_where_somebody_has_looked_before_it_arrives(
    standstill: Standstill, clock: Clock
) -> None:
    clock.now += 40
    standstill.look()
    clock.now += 0.25
    standstill.look()

    assert standstill.arrival() == 100


def test_a_while_later_all_is_fresh_again(standstill: Standstill, clock: Clock) -> None:
    clock.now += 40
    for _ in range(10):
        standstill.look()
        clock.now += 0.25

    assert standstill.arrival() == clock.now


def test_of_two_in_a_row_the_first_counts(standstill: Standstill, clock: Clock) -> None:
    clock.now += 40
    standstill.look()
    clock.now += 1.5

    assert standstill.arrival() == 100


def test_of_two_with_time_between_the_second_counts(standstill: Standstill, clock: Clock) -> None:
    clock.now += 40
    for _ in range(10):
        standstill.look()
        clock.now += 0.25
    standstill.look()
    clock.now += 40

    assert standstill.arrival() == clock.now - 40


def test_a_thread_that_is_always_late_does_not_take_all_for_lost(
    standstill: Standstill, clock: Clock
) -> None:
    for _ in range(100):
        clock.now += 1
        standstill.look()

    assert standstill.arrival() >= clock.now - 4
