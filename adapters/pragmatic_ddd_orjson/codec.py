"""Codecs: how values of one type become JSON values and come back, without loss.

A codec refuses what would not come back equal and of its type. The refusal carries the path of
the value, which grows on its way out: ``price``, then ``[2].price``, then ``lines[2].price``.
"""

import reprlib
import typing
from collections.abc import Callable
from typing import Any, Self

import attrs

# What a codec takes and gives depends on the annotation that it was made for.
Conversion = Callable[[Any], Any]

# A class, or what ``typing`` makes of one: neither has a type of its own.
Annotation = Any


class UnfitError(Exception):
    """A value, a JSON value or a type that cannot be converted. Never leaves this package."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self._path = ""

    @property
    def path(self) -> str:
        """Where it is, seen from the event; empty for the event as a whole."""
        return self._path.removeprefix(".")

    def at(self, segment: str) -> Self:
        """Note that it was found inside something else: ``.name`` or ``[index]``."""
        self._path = segment + self._path
        return self


@attrs.frozen
class Codec:
    """Both directions for one type.

    Attributes:
        encode: From a value to what orjson writes as it is.
        decode: From what orjson has read to a value.
        as_key: The same for keys of a JSON object; ``None`` where it cannot be one.
    """

    encode: Conversion
    decode: Conversion
    as_key: "Codec | None" = None


def owner_of(annotation: Annotation) -> Annotation:
    """Return ``list`` for ``list[int]``, and whatever takes no arguments as it is."""
    origin: Annotation = typing.get_origin(annotation)
    return annotation if origin is None else origin


def unexpected(value: object, expected: str) -> UnfitError:
    """Return the refusal of a value that is not what its annotation says."""
    return UnfitError(f"{reprlib.repr(value)} is of type {type(value).__name__}, not {expected}")
