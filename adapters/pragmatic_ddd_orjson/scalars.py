"""Hooks of values without parts: text, numbers, times, ids, bytes.

    str, bool, float    as JSON has them
    int                 a JSON number up to 53 bits, which every reader keeps exactly; else text
    Decimal             text with its exponent: "1.10", "-0", "1E+2"
    datetime            ISO 8601 with its offset: "2026-01-02T03:04:05.000006+09:00"
    date, time          ISO 8601
    timedelta           ISO 8601 in seconds: "PT90.5S", "-PT1S"
    UUID                36 characters
    bytes               base64

A subclass of Decimal, UUID, date, datetime, time or timedelta (database drivers and libraries
that freeze the time have some) is written if its text reads back equal; it comes back as the
annotated class. An aware datetime comes back with its offset instead of its zone's name: the same
moment, also in the hour that a zone has twice, or not at all, where Python's ``==`` denies it.
"""

import base64
import datetime as dt
import math
import operator
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pragmatic_ddd_orjson.hooks import Hooks, UnfitError, unexpected

_EXACT_EVERYWHERE = 2**53 - 1
_INTEGER = re.compile(r"-?[0-9]+")
_SECONDS = re.compile(r"(-?)PT([0-9]+)(?:\.([0-9]{1,6}))?S")


def text_hooks(
    kind: type,
    write: Callable[[Any], str],
    read: Callable[[str], Any],
    equal: Callable[[Any, Any], bool] = operator.eq,
) -> Hooks:
    """Return the hooks of a class whose values have one exact text.

    Args:
        kind: The class.
        write: From a value to its text; ``ValueError`` refuses it.
        read: From that text to an equal value; ``ValueError`` refuses the text.
        equal: Whether two values, one of them of a subclass, are the same.
    """

    def write_text(value: object) -> object:
        if not isinstance(value, kind):
            return unexpected(value, kind.__name__)
        try:
            text = write(value)
            is_exact = type(value) is kind or equal(read(text), value)
        except (ValueError, ArithmeticError) as error:
            return UnfitError(str(error))
        return text if is_exact else unexpected(value, kind.__name__)

    def read_text(raw: object, _: object) -> object:
        if type(raw) is not str:
            raise unexpected(raw, f"the text of a {kind.__name__}")
        try:
            return read(raw)
        except (ValueError, ArithmeticError, LookupError, TypeError) as error:
            detail = f": {error}" if isinstance(error, ValueError) else ""
            raise UnfitError(f"{raw!r:.60} is no {kind.__name__}{detail}") from error

    return Hooks(write_text, read_text)


def _exact_hooks(kind: type) -> Hooks:
    def write(value: object) -> object:
        return value if type(value) is kind else unexpected(value, kind.__name__)

    def read(raw: object, _: object) -> object:
        if type(raw) is kind:
            return raw
        raise unexpected(raw, kind.__name__)

    return Hooks(write, read)


def _write_int(value: object) -> object:
    if type(value) is int and -_EXACT_EVERYWHERE <= value <= _EXACT_EVERYWHERE:
        return value
    return _write_digits(value)


def _write_digits(value: object) -> object:
    if type(value) is not int:
        return unexpected(value, "int")
    try:
        return str(value)
    except ValueError as error:  # thousands of digits
        return UnfitError(str(error))


def _read_int(raw: object, _: object) -> int:
    if type(raw) is int:
        return raw
    if type(raw) is str and _INTEGER.fullmatch(raw):
        try:
            return int(raw)
        except ValueError as error:  # thousands of digits
            raise UnfitError(str(error)) from error
    raise unexpected(raw, "int")


def _write_float(value: object) -> object:
    if type(value) is not float:  # type checkers let an int in: it stays one
        return _write_int(value) if type(value) is int else unexpected(value, "float")
    return value if math.isfinite(value) else UnfitError(f"{value} is no number that JSON has")


def _read_float(raw: object, kind: object) -> float:
    return raw if type(raw) is float else _read_int(raw, kind)


def _finite(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise ValueError(f"{value} is no number")
    return value


def _aware(value: dt.datetime) -> dt.datetime:
    if value.utcoffset() is None:
        raise ValueError(f"{value.isoformat()} has no time zone: what instant is it?")
    return value


def _is_same_moment(one: dt.datetime, other: dt.datetime) -> bool:
    """Compare; ``==`` is false for times of two zones in an hour that one of them has twice."""
    has_same_offset = one.utcoffset() == other.utcoffset()
    return has_same_offset and one.replace(tzinfo=None) == other.replace(tzinfo=None)


def _write_time(value: dt.time) -> str:
    if value.tzinfo is not None and value.utcoffset() is None:
        raise ValueError(f"{value!r}: its zone has no offset without a date")
    return value.isoformat()


def _write_timedelta(value: dt.timedelta) -> str:
    seconds, microseconds = divmod(abs(value) // dt.timedelta(microseconds=1), 1_000_000)
    fraction = f".{microseconds:06}".rstrip("0") if microseconds else ""
    return f"{'-' if value < dt.timedelta() else ''}PT{seconds}{fraction}S"


def _read_timedelta(text: str) -> dt.timedelta:
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise ValueError("not in seconds, such as PT90.5S")
    sign, seconds, fraction = match.groups()
    microseconds = int(seconds) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return dt.timedelta(microseconds=-microseconds if sign else microseconds)


def _read_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


TEXTS: dict[Any, Hooks] = {
    str: _exact_hooks(str),
    Decimal: text_hooks(Decimal, lambda v: str(_finite(v)), lambda text: _finite(Decimal(text))),
    dt.datetime: text_hooks(
        dt.datetime,
        lambda value: _aware(value).isoformat(),
        lambda text: _aware(dt.datetime.fromisoformat(text)),
        _is_same_moment,
    ),
    dt.date: text_hooks(dt.date, dt.date.isoformat, dt.date.fromisoformat),
    dt.time: text_hooks(dt.time, _write_time, dt.time.fromisoformat),
    dt.timedelta: text_hooks(dt.timedelta, _write_timedelta, _read_timedelta),
    uuid.UUID: text_hooks(uuid.UUID, str, uuid.UUID),
}
SCALARS: dict[Any, Hooks] = {
    **TEXTS,
    bool: _exact_hooks(bool),
    int: Hooks(_write_int, _read_int),
    float: Hooks(_write_float, _read_float),
    bytes: text_hooks(bytes, lambda value: base64.b64encode(value).decode(), _read_bytes),
    None: _exact_hooks(type(None)),
    type(None): _exact_hooks(type(None)),
}
KEYS: dict[Any, Hooks] = {**TEXTS, int: Hooks(_write_digits, _read_int)}
