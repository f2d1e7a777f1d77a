"""Hooks of unions: ``X | None``, and ``Card | Transfer``, which is tagged.

    None, str, bool, float, int     as they are: JSON tells them apart
    an attrs class or dataclass     {"_type": "Card", "number": "42"}
    anything else, large integers   {"_type": "Decimal", "_value": "1.10"}

The tag is the class's bare name, looked up among the classes that the annotation names.
"""

from typing import Any

from cattrs import Converter

from pragmatic_ddd_orjson.classes import fields_of, has_fields
from pragmatic_ddd_orjson.hooks import (
    Annotation,
    Hooks,
    Tagged,
    UnfitError,
    meant,
    owner_of,
    unexpected,
)

TAG, VALUE = "_type", "_value"
_TOLD_APART = (str, bool, int, float)


def union_hooks(arguments: tuple[Annotation, ...], converter: Converter) -> Hooks:
    """Return the hooks of a union of these types."""
    others = [each for each in arguments if each is not type(None)]
    if len(others) == 1:
        write = converter.get_unstructure_hook(others[0])
        hooks = Hooks(write, converter.get_structure_hook(others[0]))
    else:
        hooks = _tagged_hooks([_member(each, converter) for each in others])
    return hooks if len(others) == len(arguments) else _optional_hooks(hooks, others[0])


def _optional_hooks(hooks: Hooks, annotation: Annotation) -> Hooks:
    write, read = hooks
    return Hooks(
        lambda value: None if value is None else write(value),
        lambda raw, _: None if raw is None else read(raw, annotation),
    )


def _tagged_hooks(members: list[tuple[type, Hooks]]) -> Hooks:
    by_kind = dict(members)
    by_tag = {kind.__name__: hooks for kind, hooks in members}
    if not len(members) == len(by_kind) == len(by_tag):
        raise UnfitError("two of the union's types have the same class or the same class name")
    expected = " or ".join(by_tag)
    if float in by_kind:
        by_kind.setdefault(int, by_kind[float])  # a float field may hold an int

    def write(value: object) -> object:
        for kind in type(value).__mro__:
            if kind in by_kind:
                return by_kind[kind].write(value)
        return unexpected(value, expected)

    def read(raw: Any, _: object) -> object:  # noqa: ANN401  # what orjson has read
        if type(raw) in _TOLD_APART and type(raw) in by_kind:
            return by_kind[type(raw)].read({VALUE: raw}, None)
        tag = raw.get(TAG) if type(raw) is dict else raw
        if type(raw) is dict and isinstance(tag, str) and tag in by_tag:
            return by_tag[tag].read(raw, None)
        raise unexpected(tag, expected)

    return Hooks(write, read)


def _member(annotation: Annotation, converter: Converter) -> tuple[type, Hooks]:
    """Return the class of a union's type, and hooks that write the tag beside its values."""
    kind = owner_of(meant(annotation))
    if not isinstance(kind, type):
        raise UnfitError(f"{annotation!r} cannot be part of a union")
    write = converter.get_unstructure_hook(annotation)
    read = converter.get_structure_hook(annotation)
    if has_fields(kind):
        if any(field.name == TAG for field in fields_of(meant(annotation))):
            raise UnfitError(f"{kind.__name__}.{TAG} has the name of the union's tag")
        return kind, Hooks(lambda value: _with_fields(kind, write(value)), read)

    def read_value(raw: dict[str, object], _: object) -> object:
        if VALUE not in raw:
            raise UnfitError(f"{VALUE} is missing")
        return read(raw[VALUE], annotation)

    return kind, Hooks(lambda value: _with_value(kind, write(value)), read_value)


def _with_fields(kind: type, written: Any) -> object:  # noqa: ANN401  # an object or a refusal
    return {TAG: kind.__name__, **written} if type(written) is dict else written


def _with_value(kind: type, written: object) -> object:
    if isinstance(written, UnfitError) or (type(written) is kind and kind in _TOLD_APART):
        return written
    return Tagged({TAG: kind.__name__, VALUE: written})
