"""When a message is tried again, and when it is given up."""

import datetime as dt

import pytest

from pragmatic_ddd.application.events import Redeliveries, redelivery


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(redelivery, "time", clock)
    return clock


def test_a_message_waits_longer_after_each_failure_up_to_a_cap(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=10, longest_pause=dt.timedelta(seconds=5))
    pauses = []
    for _ in range(5):
        redeliveries.failed("m1", ValueError(), is_final=False)
        begun = clock.now
        while redeliveries.is_waiting("m1"):
            clock.now += 0.5
        pauses.append(clock.now - begun)

    assert pauses == [1, 2, 4, 5, 5]


def test_a_message_that_has_not_failed_does_not_wait() -> None:
    assert not Redeliveries(max_attempts=1).is_waiting("m1")


def test_a_message_is_given_up_after_its_last_try(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=2)

    assert not redeliveries.is_last_try("m1")
    redeliveries.failed("m1", ValueError("first"), is_final=False)
    assert redeliveries.given_up("m1") is None
    assert redeliveries.is_last_try("m1")
    redeliveries.failed("m1", ValueError("second"), is_final=False)

    failure = redeliveries.given_up("m1")
    assert failure is not None
    assert failure.attempts == 2
    assert str(failure.error) == "second"


def test_a_final_error_gives_a_message_up_at_once(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=10)

    assert redeliveries.failed("m1", ValueError(), is_final=True).is_final


def test_a_postponed_message_waits_without_another_try(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=1)
    failure = redeliveries.failed("m1", ValueError(), is_final=False)
    clock.now += 1.5
    assert not redeliveries.is_waiting("m1")

    redeliveries.postpone(failure)

    assert redeliveries.is_waiting("m1")
    assert failure.attempts == 1


def test_a_settled_message_is_forgotten(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=1)
    redeliveries.failed("m1", ValueError(), is_final=False)

    redeliveries.settled("m1")
    redeliveries.settled("never seen")

    assert not redeliveries.is_waiting("m1")
    assert redeliveries.given_up("m1") is None


def test_only_so_many_failures_are_remembered(clock: Clock) -> None:
    redeliveries = Redeliveries(max_attempts=2)
    for number in range(1500):
        redeliveries.failed(f"m{number}", ValueError(), is_final=False)

    assert not redeliveries.is_waiting("m0")
    assert redeliveries.is_waiting("m1499")
    assert len(redeliveries._failures) == 1000
