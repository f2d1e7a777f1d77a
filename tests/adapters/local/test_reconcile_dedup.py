import datetime as dt
from collections.abc import Callable

import pytest

from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd_local import InMemoryReconcileDedup

_A_MINUTE = dt.timedelta(minutes=1)


def test_what_is_older_than_the_window_is_forgotten() -> None:
    clock = SettableClock()
    dedup = InMemoryReconcileDedup(_A_MINUTE, clock)
    for number in range(100):
        assert dedup.begin("orders", number)
    clock.advance(_A_MINUTE)

    assert dedup.begin("orders", "o1")
    assert len(dedup._begun) == 1


def test_a_clock_that_steps_back_blocks_nothing_for_long() -> None:
    clock = SettableClock()
    dedup = InMemoryReconcileDedup(_A_MINUTE, clock)
    assert dedup.begin("orders", "o1")
    clock.advance(dt.timedelta(days=-1))

    assert dedup.begin("orders", "o1")


def test_a_window_that_is_none_is_refused() -> None:
    make: Callable[..., object] = InMemoryReconcileDedup
    with pytest.raises(ValueError, match=r"^window = datetime.timedelta\(0\): above zero$"):
        make(dt.timedelta())
    with pytest.raises(TypeError, match=r"^window = 60: give a timedelta$"):
        make(60)
