"""Codecs of attrs classes and dataclasses, generic ones too."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

import attrs

from pragmatic_ddd.domain import Entity
from pragmatic_ddd_orjson.codec import (
    Annotation,
    Codec,
    Conversion,
    UnfitError,
    owner_of,
    unexpected,
)

_RawField = Any  # an attribute of attrs, or a field of a dataclass


@attrs.frozen
class ClassField:
    """A field of a class.

    Attributes:
        name: Its name, also in the payload.
        argument: Its name among the constructor's arguments.
        annotation: Its resolved type.
        is_required: Whether a payload must have it.
    """

    name: str
    argument: str
    annotation: object
    is_required: bool


def is_class_with_fields(kind: object) -> bool:
    """Tell whether it is an attrs class or a dataclass."""
    return isinstance(kind, type) and (attrs.has(kind) or dataclasses.is_dataclass(kind))


def fields_of(kind: Annotation) -> list[ClassField]:
    """Return the fields of a class, or of a generic one with arguments such as ``Box[int]``.

    Raises:
        UnfitError: It is an entity, or a field cannot be restored from a payload.
    """
    owner = owner_of(kind)
    if issubclass(owner, Entity):
        raise UnfitError(f"{owner.__name__} is an entity: an event holds its id, or a copy")
    hints = _type_hints(owner)
    arguments = _type_arguments(kind)
    return [_field(raw, hints, arguments) for raw in _raw_fields(owner)]


def class_codec(owner: Annotation, parts: Mapping[ClassField, Codec]) -> Codec:
    """Return the codec of a class, given those of its fields."""
    return Codec(_encoder(owner, parts), _decoder(owner, parts))


def _encoder(owner: Annotation, parts: Mapping[ClassField, Codec]) -> Conversion:
    writers = [(field.name, codec.encode) for field, codec in parts.items()]

    def encode(value: object) -> dict[str, object]:
        if type(value) is not owner:
            raise _not_exactly(owner, value)
        encoded: dict[str, object] = {}
        name = ""
        try:
            for name, convert in writers:
                encoded[name] = convert(getattr(value, name))
        except UnfitError as error:
            raise error.at(f".{name}")  # noqa: B904  # the same error, further out
        return encoded

    return encode


def _decoder(owner: Annotation, parts: Mapping[ClassField, Codec]) -> Conversion:
    readers = [(field.name, field.argument, codec.decode) for field, codec in parts.items()]
    required = {field.name for field in parts if field.is_required}

    def decode(raw: object) -> object:
        if type(raw) is not dict:
            raise unexpected(raw, f"the fields of {owner.__name__}")
        if not required <= raw.keys():
            raise UnfitError("is missing").at(f".{min(required - raw.keys())}")
        arguments: dict[str, object] = {}
        name = ""
        try:
            for name, argument, convert in readers:
                if name in raw:
                    arguments[argument] = convert(raw[name])
        except UnfitError as error:
            raise error.at(f".{name}")  # noqa: B904  # the same error, further out
        return _made(owner, arguments)

    return decode


def _made(owner: Annotation, arguments: dict[str, object]) -> object:
    try:
        return owner(**arguments)
    except Exception as error:
        raise UnfitError(f"{owner.__name__} refuses its values: {error}") from error


def _raw_fields(owner: Annotation) -> list[_RawField]:
    if attrs.has(owner):
        return list(attrs.fields(owner))
    return list(dataclasses.fields(owner))


def _type_hints(owner: type) -> dict[str, object]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as error:
        raise UnfitError(
            f"{error}: annotations of {owner.__name__} must be names of its module"
        ) from error


def _field(
    raw: _RawField, hints: Mapping[str, object], arguments: Mapping[object, object]
) -> ClassField:
    segment = f".{raw.name}"
    annotation = hints.get(raw.name, raw.type)
    if annotation is None and raw.name not in hints:
        raise UnfitError("has no annotation").at(segment)
    if not raw.init:
        raise UnfitError("is no argument of the constructor; make it a property").at(segment)
    return ClassField(
        raw.name,
        getattr(raw, "alias", None) or raw.name,
        _with_arguments(annotation, arguments),
        _is_required(raw),
    )


def _is_required(raw: _RawField) -> bool:
    if isinstance(raw, attrs.Attribute):
        return raw.default is attrs.NOTHING
    return raw.default is dataclasses.MISSING and raw.default_factory is dataclasses.MISSING


def _type_arguments(kind: Annotation) -> dict[object, object]:
    """What the type variables of a generic class and its bases stand for."""
    owner = owner_of(kind)
    found: dict[object, object] = {}
    for parent in getattr(owner, "__orig_bases__", ()):
        found |= _type_arguments(parent)
    found |= dict(zip(getattr(owner, "__parameters__", ()), typing.get_args(kind), strict=False))
    return found


def _with_arguments(annotation: Annotation, arguments: Mapping[object, object]) -> object:
    while annotation in arguments:
        annotation = arguments[annotation]
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters or isinstance(annotation, type):
        return annotation
    return annotation[tuple(_with_arguments(each, arguments) for each in parameters)]


def _not_exactly(owner: type, value: object) -> UnfitError:
    if isinstance(value, owner):
        name = type(value).__name__
        return UnfitError(
            f"a {name} in a field of its base class {owner.__name__} would come back as the "
            f"base: annotate the field as {owner.__name__} | {name}"
        )
    return unexpected(value, owner.__name__)
