"""Codecs of values without parts: text, numbers, times, ids, bytes.

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
annotated class. An aware datetime comes back with its offset instead of its zone's name.
"""

import base64
import binascii
import datetime as dt
import math
import re
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from pragmatic_ddd_orjson.codec import Codec, UnfitError, unexpected

T = TypeVar("T")
_EXACT_EVERYWHERE = 2**53 - 1
_INTEGER = re.compile(r"-?[0-9]+")
_SECONDS = re.compile(r"(-?)PT([0-9]+)(?:\.([0-9]{1,6}))?S")


def text_codec(kind: type, write: Callable[[Any], str], read: Callable[[str], Any]) -> Codec:
    """Return the codec of a class whose values have one exact text.

    Args:
        kind: The class.
        write: From a value to its text; ``ValueError`` refuses it.
        read: From that text to an equal value; ``ValueError`` refuses the text.
    """

    def encode(value: object) -> str:
        if type(value) is kind:
            return _reasoned(write, value)
        if isinstance(value, kind):
            text = _reasoned(write, value)
            if _reasoned(read, text) == value:
                return text
        raise unexpected(value, kind.__name__)

    def decode(raw: object) -> object:
        if type(raw) is not str:
            raise unexpected(raw, f"the text of a {kind.__name__}")
        return _reasoned(read, raw)

    codec = Codec(encode, decode)
    return Codec(encode, decode, as_key=codec)


def encode_str(value: object) -> str:
    """Return the text itself, if UTF-8 has it."""
    if type(value) is not str:
        raise unexpected(value, "str")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnfitError(f"{value!a:.60} has half of a surrogate pair") from error
    return value


def encode_int(value: object) -> int | str:
    """Return the number, or its digits where a reader might lose some of them."""
    if type(value) is not int:
        raise unexpected(value, "int")
    if -_EXACT_EVERYWHERE <= value <= _EXACT_EVERYWHERE:
        return value
    return _digits(value)


def encode_float(value: object) -> float | str:
    """Return a finite number. Python's type checkers let an ``int`` in: it stays one."""
    if type(value) is float:
        if not math.isfinite(value):
            raise UnfitError(f"{value} is no number that JSON has")
        return value
    if type(value) is int:
        return encode_int(value)
    raise unexpected(value, "float")


def encode_bool(value: object) -> bool:
    """Return a truth value."""
    if type(value) is not bool:
        raise unexpected(value, "bool")
    return value


def encode_none(value: object) -> None:
    """Return nothing, for nothing."""
    if value is not None:
        raise unexpected(value, "None")


def _decode_str(raw: object) -> str:
    if type(raw) is not str:
        raise unexpected(raw, "str")
    return raw


def _decode_int(raw: object) -> int:
    if type(raw) is int:
        return raw
    if type(raw) is str and _INTEGER.fullmatch(raw):
        return _reasoned(int, raw)
    raise unexpected(raw, "int")


def _decode_float(raw: object) -> float:
    if type(raw) is float:
        return raw
    return _decode_int(raw)


def _digits(value: object) -> str:
    if type(value) is not int:
        raise unexpected(value, "int")
    return _reasoned(str, value)


def _decode_digits(raw: str) -> int:
    if not _INTEGER.fullmatch(raw):
        raise unexpected(raw, "the digits of an int")
    return _reasoned(int, raw)


def _reasoned(convert: Callable[[Any], T], value: object) -> T:
    try:
        return convert(value)
    except (ValueError, ArithmeticError) as error:
        raise UnfitError(str(error)) from error


def _write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is no number")
    return str(value)


def _read_decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text!r:.60} is no decimal number") from error
    if not value.is_finite():
        raise ValueError(f"{text!r:.60} is no number")
    return value


def _write_datetime(value: dt.datetime) -> str:
    if value.utcoffset() is None:
        raise ValueError(f"{value.isoformat()} has no time zone: what instant is it?")
    return value.isoformat()


def _read_datetime(text: str) -> dt.datetime:
    value = dt.datetime.fromisoformat(text)
    if value.utcoffset() is None:
        raise ValueError(f"{text!r} has no time zone")
    return value


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
        raise ValueError(f"{text!r:.60} is no duration in seconds, such as PT90.5S")
    sign, seconds, fraction = match.groups()
    microseconds = int(seconds) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return dt.timedelta(microseconds=-microseconds if sign else microseconds)


def _encode_bytes(value: object) -> str:
    if type(value) is not bytes:
        raise unexpected(value, "bytes")
    return base64.b64encode(value).decode("ascii")


def _decode_bytes(raw: object) -> bytes:
    if type(raw) is not str:
        raise unexpected(raw, "base64")
    try:
        return base64.b64decode(raw, validate=True)
    except (binascii.Error, ValueError) as error:
        raise unexpected(raw, "base64") from error


def _scalars() -> dict[object, Codec]:
    text = Codec(encode_str, _decode_str)
    nothing = Codec(encode_none, encode_none)
    return {
        str: Codec(encode_str, _decode_str, as_key=text),
        bool: Codec(encode_bool, encode_bool),
        int: Codec(encode_int, _decode_int, as_key=Codec(_digits, _decode_digits)),
        float: Codec(encode_float, _decode_float),
        bytes: Codec(_encode_bytes, _decode_bytes),
        None: nothing,
        type(None): nothing,
        Decimal: text_codec(Decimal, _write_decimal, _read_decimal),
        dt.datetime: text_codec(dt.datetime, _write_datetime, _read_datetime),
        dt.date: text_codec(dt.date, dt.date.isoformat, dt.date.fromisoformat),
        dt.time: text_codec(dt.time, _write_time, dt.time.fromisoformat),
        dt.timedelta: text_codec(dt.timedelta, _write_timedelta, _read_timedelta),
        uuid.UUID: text_codec(uuid.UUID, str, uuid.UUID),
    }


SCALARS = _scalars()
