import datetime as dt

import pytest

from pragmatic_ddd.ports import IClock
from pragmatic_ddd.testing.clock import SettableClock


def test_it_stands_still_until_it_is_moved() -> None:
    settable = SettableClock()
    clock: IClock = settable
    start = clock.now()
    assert clock.now() == start

    settable.advance(dt.timedelta(minutes=5))
    assert clock.now() - start == dt.timedelta(minutes=5)

    settable.advance(dt.timedelta(hours=-1))
    assert clock.now() < start


def test_it_tells_the_time_in_utc() -> None:
    kyoto = dt.timezone(dt.timedelta(hours=9))
    clock = SettableClock(dt.datetime(2026, 1, 2, 9, tzinfo=kyoto))

    assert clock.now().isoformat() == "2026-01-02T00:00:00+00:00"

    clock.time = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
    assert clock.now().year == 2027


def test_an_instant_has_a_time_zone() -> None:
    naive = dt.datetime(2026, 1, 2)  # noqa: DTZ001  # this is what is refused
    with pytest.raises(ValueError, match="time zone"):
        SettableClock(naive)
    with pytest.raises(ValueError, match="time zone"):
        SettableClock().time = naive
