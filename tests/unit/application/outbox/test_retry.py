import datetime as dt

import pytest

from pragmatic_ddd.application.outbox.retry import Backoff

SECOND = dt.timedelta(seconds=1)


def test_the_wait_doubles_and_at_least_half_of_it_is_fixed() -> None:
    backoff = Backoff(base=SECOND, cap=dt.timedelta(hours=1))

    for failures, full in [(1, 1), (2, 2), (3, 4), (10, 512)]:
        for _ in range(50):
            assert full / 2 <= backoff.delay(failures).total_seconds() <= full


@pytest.mark.parametrize("failures", [0, 1, 46, 47, 1100, 10**6])
def test_any_number_of_failures_has_a_wait_below_the_cap(failures: int) -> None:
    backoff = Backoff(base=SECOND, cap=dt.timedelta(minutes=5))

    delay = backoff.delay(failures)

    assert dt.timedelta(seconds=0.5) <= delay <= dt.timedelta(minutes=5)
    if failures > 10:
        assert delay >= dt.timedelta(minutes=2.5)


def test_the_longest_base_and_cap_do_not_overflow() -> None:
    backoff = Backoff(base=dt.timedelta(hours=1), cap=dt.timedelta(hours=1))

    assert backoff.delay(10**6) <= dt.timedelta(hours=1)


def test_what_failed_together_does_not_come_back_together() -> None:
    backoff = Backoff(base=SECOND, cap=dt.timedelta(minutes=5))

    assert len({backoff.delay(5) for _ in range(100)}) > 50


@pytest.mark.parametrize("wrong", [dt.timedelta(), -SECOND])
def test_a_wait_of_nothing_is_refused(wrong: dt.timedelta) -> None:
    with pytest.raises(ValueError, match="base"):
        Backoff(base=wrong, cap=SECOND)
    with pytest.raises(ValueError, match="cap"):
        Backoff(base=SECOND, cap=wrong)
