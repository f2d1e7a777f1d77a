"""Hooks of unions: ``X | None``, and ``Card | Transfer``, which is tagged.

    None, str, bool, float, int     as they are: JSON tells them apart
    an attrs class or dataclass     {"_type": "Card", "number": "42"}
    anything else, large integers   {"_type": "Decimal", "_value": "1.10"}

The tag is the class's bare name, looked up among the classes that the annotation names.
"""

from typing import Any

import attrs
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
_Raw = Any  # what orjson has read
_TOLD_APART = (str, bool, int, float)


def union_hooks(arguments: tuple[Annotation, ...], converter: Converter) -> Hooks:
    """Return the hooks of a union of these types."""
    others = [each for each in arguments if each is not type(None)]
    hooks = [
        Hooks(converter.get_unstructure_hook(each), converter.get_structure_hook(each))
        for each in others
    ]
    if len(others) > 1:
        members = [_member(each, part) for each, part in zip(others, hooks, strict=True)]
        hooks = [_tagged_hooks(members)]
    return hooks[0] if len(others) == len(arguments) else _optional_hooks(hooks[0], others[0])


@attrs.frozen
class _Member:
    kind: type
    annotation: Annotation
    hooks: Hooks
    has_fields: bool

    def write(self, value: object) -> object:
        written = self.hooks.write(value)
        if isinstance(written, UnfitError):
            return written
        if self.has_fields:
            return {TAG: self.kind.__name__, **written}
        if self.kind in _TOLD_APART and type(written) is self.kind:
            return written
        return Tagged({TAG: self.kind.__name__, VALUE: written})

    def read(self, raw: _Raw) -> object:
        if type(raw) is dict and not self.has_fields:
            if VALUE not in raw:
                raise UnfitError(f"{VALUE} is missing")
            raw = raw[VALUE]
        return self.hooks.read(raw, self.annotation)


def _member(annotation: Annotation, hooks: Hooks) -> _Member:
    kind = owner_of(meant(annotation))
    if not isinstance(kind, type):
        raise UnfitError(f"{annotation!r} cannot be part of a union")
    is_object = has_fields(kind)
    if is_object and any(field.name == TAG for field in fields_of(meant(annotation))):
        raise UnfitError(f"{kind.__name__}.{TAG} has the name of the union's tag")
    return _Member(kind, annotation, hooks, is_object)


def _tagged_hooks(members: list[_Member]) -> Hooks:
    by_kind = {member.kind: member for member in members}
    by_tag = {member.kind.__name__: member for member in members}
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

    def read(raw: _Raw, _: object) -> object:
        if type(raw) is dict:
            tag = raw.get(TAG)
            member = by_tag.get(tag) if isinstance(tag, str) else None
        else:
            tag, member = raw, by_kind.get(type(raw))
        if member is None or (tag is raw and member.kind not in _TOLD_APART):
            raise unexpected(tag, expected)
        return member.read(raw)

    return Hooks(write, read)


def _optional_hooks(hooks: Hooks, annotation: Annotation) -> Hooks:
    write_value, read_value = hooks.write, hooks.read
    return Hooks(
        lambda value: None if value is None else write_value(value),
        lambda raw, _: None if raw is None else read_value(raw, annotation),
    )
