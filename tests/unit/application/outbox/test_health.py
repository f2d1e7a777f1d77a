import logging

import attrs
import pytest

from pragmatic_ddd.application.outbox import BrokerHealth
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from tests.unit.application.outbox.builders import seconds


@attrs.define
class Seconds:
    """A monotonic clock that a test moves."""

    reading: float = 1000.0

    def __call__(self) -> float:
        return self.reading


@pytest.fixture
def now() -> Seconds:
    return Seconds()


@pytest.fixture
def health(now: Seconds) -> BrokerHealth:
    return BrokerHealth(monotonic=now)


def unavailable(message_id: str = "m") -> BrokerUnavailableError:
    return BrokerUnavailableError(message_id, "topic", "connection refused")


def unconfirmed(message_id: str = "m") -> EventUnconfirmedError:
    return EventUnconfirmedError(message_id, "topic", "no answer")


def fail_probe(health: BrokerHealth, now: Seconds) -> float:
    """Let the next probe fail, and return the pause before it."""
    pause = health.probe_in.total_seconds()
    now.reading += pause
    assert health.allowance(200) == 1
    health.failed("probe", unavailable())
    return pause


def test_at_first_the_broker_is_taken_to_be_there(health: BrokerHealth) -> None:
    assert not health.is_away
    assert health.probe_in == seconds(0)
    assert health.allowance(200) == 200


def test_an_outage_counts_no_attempt(health: BrokerHealth) -> None:
    assert not health.failed("m", unavailable())
    health.confirmed()
    assert not health.failed("m", unavailable())


@pytest.mark.parametrize("kind", [EventPublishError, EventRejectedError])
def test_the_fault_of_a_message_counts_and_is_no_outage(
    health: BrokerHealth, kind: type[EventPublishError]
) -> None:
    for _ in range(10):
        assert health.failed("m", kind("m", "topic", "refused"))

    assert not health.is_away
    assert health.failed("m", ValueError("a bug"))


def test_no_answer_does_not_count_while_nothing_else_is_confirmed(health: BrokerHealth) -> None:
    for _ in range(20):
        assert not health.failed("m", unconfirmed())


def test_no_answer_counts_if_another_message_was_confirmed_since_the_previous_try(
    health: BrokerHealth,
) -> None:
    assert not health.failed("m", unconfirmed())
    health.confirmed()

    assert health.failed("m", unconfirmed())
    assert not health.failed("m", unconfirmed()), "nothing was confirmed since that try"


def test_a_first_try_without_an_answer_does_not_count(health: BrokerHealth) -> None:
    health.confirmed()

    assert not health.failed("m", unconfirmed())


def test_only_so_many_tries_are_remembered(health: BrokerHealth) -> None:
    health.failed("first", unconfirmed())
    for number in range(10_000):
        health.failed(f"m{number}", unconfirmed())
    health.confirmed()

    assert not health.failed("first", unconfirmed()), "its first try is forgotten"
    assert health.failed("m9999", unconfirmed())


def test_three_without_an_answer_in_a_row_are_an_outage(health: BrokerHealth) -> None:
    health.failed("a", unconfirmed())
    health.failed("b", unconfirmed())
    assert not health.is_away

    health.failed("c", unconfirmed())

    assert health.is_away


def test_a_confirmation_in_between_is_no_outage(health: BrokerHealth) -> None:
    for _ in range(5):
        health.failed("a", unconfirmed())
        health.failed("b", unconfirmed())
        health.confirmed()

    assert not health.is_away


def test_in_an_outage_there_is_one_probe_at_a_time(health: BrokerHealth, now: Seconds) -> None:
    health.failed("m", unavailable())
    assert health.allowance(200) == 0

    now.reading += health.probe_in.total_seconds()

    assert health.allowance(200) == 1
    assert health.allowance(200) == 0
    assert health.probe_in == seconds(30), "unless the probe tells first"


def test_a_probe_that_never_tells_is_replaced_after_a_while(
    health: BrokerHealth, now: Seconds
) -> None:
    health.failed("m", unavailable())
    now.reading += health.probe_in.total_seconds()
    health.allowance(200)

    now.reading += 30

    assert health.allowance(200) == 1


def test_a_probe_that_was_not_used_is_given_to_the_next(health: BrokerHealth, now: Seconds) -> None:
    health.failed("m", unavailable())
    now.reading += health.probe_in.total_seconds()
    health.allowance(200)

    health.give_back_probe()

    assert health.allowance(200) == 1


def test_giving_back_what_was_no_probe_does_not_hasten_the_next_one(health: BrokerHealth) -> None:
    health.failed("m", unavailable())

    health.give_back_probe()

    assert health.allowance(200) == 0


def test_a_probe_that_the_broker_refused_lets_the_next_one_go(
    health: BrokerHealth, now: Seconds
) -> None:
    health.failed("m", unavailable())
    now.reading += health.probe_in.total_seconds()
    health.allowance(200)

    assert health.failed("poison", EventRejectedError("poison", "topic", "too large"))

    assert health.is_away
    assert health.allowance(200) == 1


def test_the_pace_of_probes_slows_down_to_thirty_seconds(
    health: BrokerHealth, now: Seconds
) -> None:
    health.failed("m", unavailable())

    pauses = [fail_probe(health, now) for _ in range(10)]

    for pause, full in zip(pauses, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30], strict=True):
        assert full / 2 <= pause <= full


def test_sends_that_were_under_way_do_not_slow_the_probes_down(health: BrokerHealth) -> None:
    for number in range(16):
        health.failed(f"m{number}", unavailable())

    assert health.probe_in <= seconds(1)
    assert health.setbacks == 1


def test_each_failed_probe_is_a_setback(health: BrokerHealth, now: Seconds) -> None:
    health.failed("m", unavailable())
    assert health.setbacks == 1

    fail_probe(health, now)

    assert health.setbacks == 2


def test_one_confirmation_ends_the_outage_and_the_sending_grows_again(
    health: BrokerHealth, now: Seconds
) -> None:
    health.failed("m", unavailable())
    now.reading += health.probe_in.total_seconds()
    health.allowance(200)

    health.confirmed()

    assert not health.is_away
    sizes = []
    for _ in range(10):
        sizes.append(health.allowance(200))
        health.batch_went_well(200)
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 128, 200, 200]


def test_the_sending_does_not_grow_without_success(health: BrokerHealth, now: Seconds) -> None:
    health.failed("m", unavailable())
    health.confirmed()

    assert [health.allowance(200) for _ in range(3)] == [1, 1, 1]


def test_the_pace_of_probes_starts_anew_after_an_outage(health: BrokerHealth, now: Seconds) -> None:
    health.failed("m", unavailable())
    for _ in range(6):
        fail_probe(health, now)
    health.confirmed()

    health.failed("m", unavailable())

    assert health.probe_in <= seconds(1)


def test_an_outage_is_logged_once_and_so_is_its_end(
    health: BrokerHealth, now: Seconds, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    health.failed("m", unavailable())
    for _ in range(5):
        fail_probe(health, now)
    health.confirmed()
    health.confirmed()

    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING, logging.INFO]
    assert "connection refused" in caplog.records[0].getMessage()
