"""A clock that stands still until a test moves it."""

import datetime as dt

import attrs

_START = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@attrs.define(eq=False)
class SettableClock:
    """Tells what it was set to.

    Attributes:
        time: The present instant, with a time zone; set it as you like, backwards, too.
    """

    time: dt.datetime = attrs.field(default=_START)

    @time.validator
    def _check_zone(self, _: object, value: dt.datetime) -> None:
        if value.utcoffset() is None:
            raise ValueError(f"{value!r}: an instant has a time zone")

    def now(self) -> dt.datetime:
        """Return the present instant, in UTC."""
        return self.time.astimezone(dt.UTC)

    def advance(self, by: dt.timedelta) -> None:
        """Move it; a negative duration steps back."""
        self.time += by
