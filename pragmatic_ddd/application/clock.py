"""The application's clock, read from the system."""

import datetime as dt

import attrs


@attrs.frozen
class SystemClock:
    """The system's clock, in UTC."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)
