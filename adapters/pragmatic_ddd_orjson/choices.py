"""Codecs of enums and literals: a closed set of values, written by value."""

import enum
from collections.abc import Callable, Iterable
from typing import Any

from pragmatic_ddd_orjson.codec import Codec, UnfitError, unexpected
from pragmatic_ddd_orjson.scalars import SCALARS


def enum_codec(kind: type[enum.Enum]) -> Codec:
    """Return the codec of an enum: members by their value, flags by their number."""
    if issubclass(kind, enum.Flag):
        return _flag_codec(kind)
    values = {member: _encoded(member.value, f"member {member.name}") for member in kind}
    encode = _lookup(values, kind)
    decode = _reverse_lookup(values, kind.__name__)
    return Codec(encode, decode, as_key=_key_codec(values, encode, kind.__name__))


def literal_codec(choices: Iterable[object]) -> Codec:
    """Return the codec of a ``Literal``; 1, True and an enum's member stay apart."""
    values = {(type(choice), choice): _literal(choice) for choice in choices}
    name = f"one of {[choice for _, choice in values]}"
    back = _by_encoded([(choice, encoded) for (_, choice), encoded in values.items()], name)

    def encode(value: object) -> object:
        try:
            return values[type(value), value]
        except (KeyError, TypeError):
            raise unexpected(value, name) from None

    def decode(raw: object) -> object:
        try:
            return back[type(raw), raw]
        except (KeyError, TypeError):
            raise unexpected(raw, name) from None

    return Codec(encode, decode)


def _literal(choice: object) -> object:
    return _encoded(choice.value if isinstance(choice, enum.Enum) else choice, "a literal")


def _encoded(value: object, owner: str) -> object:
    codec = SCALARS.get(type(value))
    if codec is None:
        raise UnfitError(f"the value of {owner}, {value!r}, is neither text nor a number")
    return codec.encode(value)


def _lookup(values: dict[Any, object], kind: type[enum.Enum]) -> Callable[[object], object]:
    def encode(value: object) -> object:
        if type(value) is not kind:
            raise unexpected(value, kind.__name__)
        return values[value]

    return encode


def _reverse_lookup(values: dict[Any, object], name: str) -> Callable[[object], object]:
    back = _by_encoded(list(values.items()), name)

    def decode(raw: object) -> object:
        try:
            return back[type(raw), raw]
        except (KeyError, TypeError):  # a list or an object has no hash
            raise UnfitError(f"{raw!r:.60} is no value of {name}") from None

    return decode


def _by_encoded(
    values: list[tuple[object, object]], name: str
) -> dict[tuple[type, object], object]:
    back = {(type(encoded), encoded): value for value, encoded in values}
    if len(back) < len(values):
        raise UnfitError(f"two values of {name} look the same in JSON")
    return back


def _key_codec(
    values: dict[Any, object], encode: Callable[[object], object], name: str
) -> Codec | None:
    if not all(type(encoded) in (str, int) for encoded in values.values()):
        return None
    decode = _reverse_lookup({value: str(encoded) for value, encoded in values.items()}, name)
    return Codec(lambda value: str(encode(value)), decode)


def _flag_codec(kind: type[enum.Flag]) -> Codec:
    number = SCALARS[int]

    def encode(value: object) -> object:
        if not isinstance(value, kind):
            raise unexpected(value, kind.__name__)
        return number.encode(value.value)

    def decode(raw: object) -> object:
        try:
            return kind(number.decode(raw))
        except ValueError as error:
            raise UnfitError(str(error)) from error

    return Codec(encode, decode)
