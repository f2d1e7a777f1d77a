"""Timestamps as text, as in RFC 3339: what CloudEvents have in ``time``.

    2026-11-30T12:00:00Z    2026-11-30t13:00:00.250+01:00    2016-12-31T23:59:60Z

Its date-time to the letter. ``T`` and ``Z`` may be small there; the other forms of ISO 8601, which
``datetime.fromisoformat`` reads as well, are none.
"""

import datetime as dt
import re
from typing import Final

# For text and for bytes, where \d is not the same.
TIMESTAMP: Final = (
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_IS_TIMESTAMP = re.compile(TIMESTAMP)
_SECONDS: Final = slice(17, 19)
_LEAP: Final = "60"
_SECOND: Final = dt.timedelta(seconds=1)


def parsed_timestamp(text: str) -> dt.datetime:
    """Return the instant that a timestamp says.

    A leap second is read as the second after it, as ``datetime`` knows none; it is at the end of a
    month in UTC. Of a fraction, what is finer than microseconds is left out.

    Raises:
        ValueError: It is no timestamp, there is no such day or leap second, or it is in no year
            that ``datetime`` has.
    """
    try:
        if _IS_TIMESTAMP.fullmatch(text):
            return _after_leap(text) if text[_SECONDS] == _LEAP else _read(text)
    except (ValueError, OverflowError) as error:
        raise ValueError(_rule(text)) from error
    raise ValueError(_rule(text))


def _read(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.upper())


def _after_leap(text: str) -> dt.datetime:
    after = _read(f"{text[: _SECONDS.start]}59{text[_SECONDS.stop :]}") + _SECOND
    in_utc = after.astimezone(dt.UTC)
    if (in_utc.day, in_utc.hour, in_utc.minute) != (1, 0, 0):
        raise ValueError("a leap second is the last of a month in UTC")
    return after


def _rule(text: str) -> str:
    return f"{text!r:.60}: a date and a time with its offset, as in RFC 3339"
