"""The types that a setting can have, and how each is read: from text, or as a file's own type.

A reader returns a value of exactly its type, or raises a ``ValueError`` whose text is the rule, and
does not hold the value; that of an item of a list is the cause of the list's, which shows the item.
"""

import datetime as dt
import enum
import math
import types
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Union, get_args, get_origin

from pragmatic_ddd.application.configuration.durations import duration

Reader = Callable[[object], object]

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_COLLECTIONS: Mapping[object, Callable[[list[object]], object]] = {
    tuple: tuple,
    list: list,
    frozenset: frozenset,
}


def reader_of(kind: object) -> Reader:
    """Return what reads values of a type.

    Raises:
        TypeError: No setting can have that type.
    """
    kind = without_none(kind)
    if kind in _READERS:
        return _READERS[kind]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return partial(_member, kind)
    origin, items = get_origin(kind), get_args(kind)
    if origin in _COLLECTIONS and items[1:] == ((...,) if origin is tuple else ()):
        return partial(_items, _COLLECTIONS[origin], reader_of(items[0]))
    raise TypeError(f"no setting can have the type {kind}")


def without_none(kind: object) -> object:
    """Return the type of an optional field when it is set."""
    if get_origin(kind) in {Union, types.UnionType}:
        parts = [part for part in get_args(kind) if part is not types.NoneType]
        return parts[0] if len(parts) == 1 else kind
    return kind


def _typed(kind: type, rule: str, read_text: Callable[[str], object]) -> Reader:
    """Return a reader that takes values of exactly that type, and text."""

    def read(value: object) -> object:
        if type(value) is kind:
            return value
        try:
            return read_text(value.strip() if isinstance(value, str) else "")
        except (KeyError, ValueError):
            raise ValueError(rule) from None

    return read


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case _:
            raise ValueError("text, in quotes")


def _duration(value: object) -> dt.timedelta:
    return value if isinstance(value, dt.timedelta) else duration(str(value))


def _float(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number")
    return number


def _decimal(value: object) -> Decimal:
    try:
        # A file's 0.1 is binary, and no longer what was written.
        number = Decimal("nan" if isinstance(value, float) else str(value))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise ValueError('an exact number: where the file has quotes, in quotes: "0.1"')
    return number


def _instant(value: object) -> dt.datetime:
    rule = "a date and time with its offset from UTC, such as 2026-01-31T12:00:00Z"
    try:
        instant = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(rule) from None
    if instant.utcoffset() is None:
        raise ValueError(rule)
    return instant


def _path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a path")
    return Path(value)


def _member(kind: type[enum.Enum], value: object) -> enum.Enum:
    """Find a member by its value, or by its name in any case."""
    if isinstance(value, kind):
        return value
    by_value = {str(member.value): member for member in kind}
    members = {name.lower(): member for name, member in kind.__members__.items()} | by_value
    text = str(value).strip()
    found = members.get(text, members.get(text.lower().replace("-", "_")))
    if found is None:
        raise ValueError(f"one of {', '.join(by_value)}")
    return found


def _items(collection: Callable[[list[object]], object], read: Reader, value: object) -> object:
    items: list[object] = []
    for position, item in enumerate(_split(value)):
        try:
            items.append(read(item))
        except ValueError as error:
            raise ValueError(f"[{position}] = {item!r}: {error}") from error
    return collection(items)


def _split(value: object) -> list[object]:
    match value:
        case list() | tuple() | set() | frozenset():
            return list(value)
        case str() if not value.strip():
            return []
        case str() if all(item.strip() for item in value.split(",")):
            return [item.strip() for item in value.split(",")]
        case _:
            raise ValueError("a list such as a, b, with something on each side of a comma")


_READERS: Mapping[object, Reader] = {
    str: _text,
    int: _typed(int, "a whole number", int),
    float: _float,
    Decimal: _decimal,
    bool: _typed(bool, "true or false", lambda text: _BOOLEANS[text.lower()]),
    dt.timedelta: _duration,
    dt.datetime: _instant,
    dt.date: _typed(dt.date, "a date such as 2026-01-31", dt.date.fromisoformat),
    Path: _path,
}
