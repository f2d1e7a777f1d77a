"""Hooks of enums and literals: a closed set of values, written by value."""

import enum
from collections.abc import Iterable

from pragmatic_ddd_orjson.hooks import Hooks, UnfitError, unexpected
from pragmatic_ddd_orjson.scalars import SCALARS


def enum_hooks(kind: type[enum.Enum], *, as_keys: bool = False) -> Hooks:
    """Return the hooks of an enum: members by their value, flags by their number."""
    encoded: dict[tuple[type, object], object] = {(kind, each): _encoded(each) for each in kind}
    if as_keys:
        if issubclass(kind, enum.Flag) or not all(type(e) in (str, int) for e in encoded.values()):
            raise UnfitError(f"{kind!r} cannot be a key in JSON")
        encoded = {member: str(each) for member, each in encoded.items()}
    elif issubclass(kind, enum.Flag):
        return _flag_hooks(kind)
    return _choice_hooks(encoded, kind.__name__)


def literal_hooks(choices: Iterable[object]) -> Hooks:
    """Return the hooks of a ``Literal``; 1, True and an enum's member stay apart."""
    encoded = {(type(choice), choice): _encoded(choice) for choice in choices}
    return _choice_hooks(encoded, f"one of {[choice for _, choice in encoded]}")


def _encoded(choice: object) -> object:
    value = choice.value if isinstance(choice, enum.Enum) else choice
    hooks = SCALARS.get(type(value))
    if hooks is None:
        raise UnfitError(f"the value of {choice!r} is neither text nor a number")
    return hooks.write(value)


def _choice_hooks(encoded: dict[tuple[type, object], object], name: str) -> Hooks:
    choices = {(type(each), each): choice for (_, choice), each in encoded.items()}
    if len(choices) < len(encoded):
        raise UnfitError(f"two values of {name} look the same in JSON")

    def write(value: object) -> object:
        try:
            return encoded[type(value), value]
        except (KeyError, TypeError):  # a list or a dict has no hash
            return unexpected(value, name)

    def read(raw: object, _: object) -> object:
        try:
            return choices[type(raw), raw]
        except (KeyError, TypeError):
            raise unexpected(raw, name) from None

    return Hooks(write, read)


def _flag_hooks(kind: type[enum.Flag]) -> Hooks:
    number = SCALARS[int]

    def write(value: object) -> object:
        return (
            number.write(value.value)
            if isinstance(value, kind)
            else unexpected(value, kind.__name__)
        )

    def read(raw: object, _: object) -> object:
        try:
            return kind(number.read(raw, int))
        except ValueError as error:
            raise UnfitError(str(error)) from error

    return Hooks(write, read)
