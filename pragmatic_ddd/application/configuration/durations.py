"""Durations as people write them: ``250ms``, ``30s``, ``5min``, ``2h``, ``7d``, ``PT5M``."""

import datetime as dt
import re

_UNITS = {
    "us": dt.timedelta(microseconds=1),
    "ms": dt.timedelta(milliseconds=1),
    "s": dt.timedelta(seconds=1),
    "sec": dt.timedelta(seconds=1),
    "m": dt.timedelta(minutes=1),
    "min": dt.timedelta(minutes=1),
    "h": dt.timedelta(hours=1),
    "d": dt.timedelta(days=1),
}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def duration(text: str) -> dt.timedelta:
    """Read a duration: ``250ms``, ``30s``, ``5min``, ``2h``, ``7d`` or ISO 8601 ``PT5M``.

    Raises:
        ValueError: It is none of these.
    """
    try:
        return _duration(text.strip())
    except OverflowError:
        raise ValueError("a duration of less than a billion days") from None


def _duration(clean: str) -> dt.timedelta:
    short = _SHORT.fullmatch(clean.lower())
    if short and short[2] in _UNITS:
        return float(short[1]) * _UNITS[short[2]]
    iso = _ISO.fullmatch(clean.upper())
    if iso and any(iso.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    raise ValueError("a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M")
