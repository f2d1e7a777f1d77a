"""Hooks of attrs classes and dataclasses, generic ones too."""

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn_from_attrs, make_dict_unstructure_fn_from_attrs

from pragmatic_ddd.domain import Entity
from pragmatic_ddd_orjson.containers import checked_hooks
from pragmatic_ddd_orjson.hooks import (
    Annotation,
    Hooks,
    UnfitError,
    exact_hooks,
    owner_of,
)

_Field = Any  # an attribute of attrs, or a field of a dataclass


def has_fields(kind: object) -> bool:
    """Tell whether it is an attrs class or a dataclass."""
    return isinstance(kind, type) and (attrs.has(kind) or dataclasses.is_dataclass(kind))


def class_hooks(annotation: Annotation, converter: Converter) -> Hooks:
    """Return the hooks of a class: its values become objects, their members its fields."""
    owner = owner_of(annotation)
    fields = fields_of(annotation)
    for field in fields:
        checked_hooks(field.type, converter, f".{field.name}")
    # cattrs names its functions after the arguments; the fields have their types already
    names = {each.__name__: each for each in getattr(owner, "__parameters__", ())}
    write_fields = make_dict_unstructure_fn_from_attrs(fields, owner, converter, names)
    read_fields = make_dict_structure_fn_from_attrs(fields, owner, converter, names)

    hooks = exact_hooks(owner, write_fields, dict, read_fields)

    def write(value: object) -> object:
        is_derived = isinstance(value, owner) and type(value) is not owner
        return _as_base(owner, type(value)) if is_derived else hooks.write(value)

    return Hooks(write, hooks.read)


def fields_of(annotation: Annotation) -> list[_Field]:
    """Return the fields of a class, those of a generic one such as ``Box[int]`` with its types.

    Raises:
        UnfitError: It is an entity, or a field cannot be restored from a payload.
    """
    owner = owner_of(annotation)
    if issubclass(owner, Entity):
        raise UnfitError(f"{owner.__name__} is an entity: an event holds its id, or a copy")
    try:
        hints = typing.get_type_hints(owner)
    except NameError as error:
        raise UnfitError(
            f"{error}: annotations of {owner.__name__} must be names of its module"
        ) from error
    arguments = _type_arguments(annotation)
    raw_fields = attrs.fields(owner) if attrs.has(owner) else dataclasses.fields(owner)
    made = {raw.name: _field(raw, hints, arguments) for raw in raw_fields}
    fields = list(attrs.fields(attrs.make_class("Fields", made, init=False)))
    _check_constructor(owner, fields)
    return fields


def _check_constructor(owner: type, fields: list[_Field]) -> None:
    """Refuse a class that cannot be made of its fields: one with an ``__init__`` of its own."""
    try:
        inspect.signature(owner).bind(**{field.alias: None for field in fields})
    except TypeError as error:
        raise UnfitError(
            f"the constructor of {owner.__name__} does not take its fields: {error}"
        ) from error


def _field(raw: _Field, hints: Mapping[str, object], arguments: Mapping[object, object]) -> _Field:
    if raw.name not in hints and raw.type is None:
        raise UnfitError("has no annotation", f".{raw.name}")
    if not raw.init:
        raise UnfitError("is no argument of the constructor; make it a property", f".{raw.name}")
    annotation: Annotation = _with_arguments(hints.get(raw.name, raw.type), arguments)
    missing = (attrs.NOTHING, dataclasses.MISSING)
    defaults = (raw.default, getattr(raw, "default_factory", dataclasses.MISSING))
    is_required = all(any(default is each for each in missing) for default in defaults)
    return attrs.field(
        type=annotation,
        alias=getattr(raw, "alias", None) or raw.name,
        default=attrs.NOTHING if is_required else None,
        kw_only=True,
    )


def _type_arguments(annotation: Annotation) -> dict[object, object]:
    """What the type variables of a generic class and its bases stand for."""
    owner = owner_of(annotation)
    found: dict[object, object] = {}
    for parent in getattr(owner, "__orig_bases__", ()):
        found |= _type_arguments(parent)
    parameters = getattr(owner, "__parameters__", ())
    return found | dict(zip(parameters, typing.get_args(annotation), strict=False))


def _with_arguments(annotation: Annotation, arguments: Mapping[object, object]) -> object:
    while annotation in arguments:
        annotation = arguments[annotation]
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters or isinstance(annotation, type):
        return annotation
    return annotation[tuple(_with_arguments(each, arguments) for each in parameters)]


def _as_base(owner: type, kind: type) -> UnfitError:
    return UnfitError(
        f"a {kind.__name__} in a field of its base class {owner.__name__} would come back as the "
        f"base: annotate the field as {owner.__name__} | {kind.__name__}"
    )
