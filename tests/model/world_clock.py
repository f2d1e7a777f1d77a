"""The only clock of a model run: it moves when a rule says so, and is the same in every repeat."""

import datetime as dt

import attrs

_START = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
_MOMENT = dt.timedelta(microseconds=1)


@attrs.define(eq=False)
class WorldClock:
    """Tells the database's time, and the seconds of the processes' monotonic clocks."""

    _elapsed: dt.timedelta = attrs.field(default=dt.timedelta(), init=False)
    _stepped_back: dt.timedelta = attrs.field(default=dt.timedelta(), init=False)

    def now(self) -> dt.datetime:
        return _START + self._elapsed - self._stepped_back

    def monotonic(self) -> float:
        return self._elapsed / dt.timedelta(seconds=1)

    def advance(self, by: dt.timedelta) -> None:
        """Let time pass for everybody."""
        self._elapsed += by

    def tick(self) -> None:
        """Let the moment pass that waiting takes: who waits in vain must not wait for ever."""
        self._elapsed += _MOMENT

    def step_back(self, by: dt.timedelta) -> None:
        """Set the database's clock back; no monotonic clock does that."""
        self._stepped_back += by
