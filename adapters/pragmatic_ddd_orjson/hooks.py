"""Hooks: how values of one type are written as JSON and read back, both strict.

A reader raises its refusal, and cattrs collects where. A writer leaves it in the value's place:
orjson cannot write it either, and only then is its path looked for.
"""

import reprlib
import typing
from collections.abc import Callable
from typing import Any, NamedTuple, Self

# A class, or what ``typing`` makes of one: neither has a type of its own.
Annotation = Any
Write = Callable[[Any], Any]
Read = Callable[[Any, Any], Any]


class Hooks(NamedTuple):
    """Both directions for one type.

    Attributes:
        write: From a value to what orjson writes as it is, or to an ``UnfitError``.
        read: From what orjson has read, and the annotation, to a value.
    """

    write: Write
    read: Read


def exact_hooks(kind: type, write: Write, raw_kind: type, read: Read) -> Hooks:
    """Return hooks that see values of exactly that class, and JSON of exactly that kind."""

    def write_exact(value: object) -> object:
        return write(value) if type(value) is kind else unexpected(value, kind.__name__)

    def read_exact(raw: object, annotation: object) -> object:
        if type(raw) is raw_kind:
            return read(raw, annotation)
        raise unexpected(raw, kind.__name__)

    return Hooks(write_exact, read_exact)


class UnfitError(Exception):
    """A value, JSON or a type that cannot be converted. Never leaves this package."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def at(self, segment: str) -> Self:
        """Note that a type was found inside another one: ``.name`` or ``[]``."""
        self.path = segment + self.path
        return self


class Entries(dict[Any, Any]):
    """The entries of a dict, as opposed to the fields of a class; ``keys_before`` are its keys."""

    keys_before: list[object]


class Tagged(dict[str, Any]):
    """A value beside its tag, which is no part of a path."""


def unexpected(value: object, expected: str) -> UnfitError:
    """Return the refusal of what is not as its annotation says."""
    return UnfitError(f"{reprlib.repr(value)} is of type {type(value).__name__}, not {expected}")


def owner_of(annotation: Annotation) -> Annotation:
    """Return ``list`` for ``list[int]``, and whatever takes no arguments as it is."""
    origin: Annotation = typing.get_origin(annotation)
    return annotation if origin is None else origin


def meant(annotation: Annotation) -> Annotation:
    """Return the type behind ``Annotated``, ``Final``, a ``NewType`` or a ``type`` statement."""
    while True:
        if owner_of(annotation) in (typing.Annotated, typing.Final):
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # from Python 3.12
            annotation = annotation.__value__
        else:
            return annotation
