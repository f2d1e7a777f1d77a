"""Checks of what a caller gave: a mistake is named where it was made, not where it hurts.

Validators for the fields of attrs classes, and functions for the arguments of methods. A message
has the name of what is wrong, what was given, and what to give: ``limit = 0: at least 1``.
"""

import abc
import datetime as dt
import functools
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import attrs

# Any: a field's type must not be inferred from its validator.
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]

_TOLD = (str, bytes, int, float, dt.timedelta, type(None))


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and of an object only its type.

    The whole text of an outbox store would be its table with all columns, and more than anybody
    reads; that of a configuration source could hold a secret.
    """
    if isinstance(value, type):
        return f"<class {value.__qualname__}>"
    if isinstance(value, _TOLD):
        return reprlib.repr(value)
    return f"<{type(value).__qualname__} object>"


def shown_address(value: str) -> str:
    """Return an address as a message shows it: what stands before an ``@`` may be a password."""
    _, at, host = value.rpartition("@")
    return shown(f"…@{host}" if at else value)


def implements(port: abc.ABCMeta) -> Validator:
    """Return a validator: the value has what the port names, whatever its class is.

    Raises:
        TypeError: Something is missing, or the value is a class.
    """

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        check_port(attribute.name, value, port)

    return check


def of_type(kind: type) -> Validator:
    """Return a validator: the value is of that type; a boolean is no number.

    Raises:
        TypeError: It is not.
    """

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        check_type(attribute.name, value, kind)

    return check


def can_be_called() -> Validator:
    """Return a validator: the value is a function, or can be called like one.

    Raises:
        TypeError: It cannot be called.
    """

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not callable(value):
            raise TypeError(f"{attribute.name} = {shown(value)}: give a function")

    return check


def in_words() -> Validator:
    """Return a validator: the value is text that says something.

    Raises:
        TypeError: It is no text.
        ValueError: It is blank.
    """

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        check_words(attribute.name, value)

    return check


def check_port(name: str, value: object, port: abc.ABCMeta) -> None:
    """Refuse what lacks something that a port names.

    Raises:
        TypeError: It does, or it is a class.
    """
    if isinstance(value, type):
        raise TypeError(f"{name} = {shown(value)}: give an object made of it")
    kind: type = type(value)
    if _has_all(kind, port):
        return
    missing = [one for one in sorted(port.__abstractmethods__) if not hasattr(value, one)]
    if missing:
        raise TypeError(
            f"{name} = {shown(value)}: give {_a(port)}; this has no {', '.join(missing)}"
        )


def check_type(name: str, value: object, kind: type) -> None:
    """Refuse what is of another type, and a boolean where a number is asked for.

    Raises:
        TypeError: It is.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} = {shown(value)}: give {_a(kind)}")


def check_class(name: str, value: object, base: type) -> None:
    """Refuse what is no class derived from another one.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, type) or not issubclass(value, base):
        raise TypeError(f"{name} = {shown(value)}: give a class derived from {base.__qualname__}")


def check_count(name: str, value: object) -> None:
    """Refuse what is no number of things to ask for.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is below 1.
    """
    check_type(name, value, int)
    if isinstance(value, int) and value < 1:
        raise ValueError(f"{name} = {shown(value)}: at least 1")


def check_words(name: str, value: object) -> None:
    """Refuse what says nothing.

    Raises:
        TypeError: It is no text.
        ValueError: It is blank.
    """
    check_type(name, value, str)
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} = {shown(value)}: say it, in words")


def checked_ids(name: str, values: Iterable[object]) -> list[str]:
    """Return ids as a list, if they are text, and more than one can be: not one text by itself.

    Raises:
        TypeError: One is no text; or they are one text, whose letters would be taken for ids.
    """
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} = {shown(values)}: give a list, such as [{shown(values)}]")
    check_type(name, values, Iterable)
    ids: list[str] = []
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"{name}[{position}] = {shown(value)}: give {_a(str)}")
        ids.append(value)
    return ids


@functools.lru_cache(maxsize=256)
def _has_all(kind: type, port: abc.ABCMeta) -> bool:
    """Say whether a class has what a port names: a unit of work is made for each transaction."""
    return all(hasattr(kind, name) for name in port.__abstractmethods__)


def _a(kind: type) -> str:
    name = kind.__qualname__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
