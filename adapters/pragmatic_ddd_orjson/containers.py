"""Hooks of containers: list, tuple, set, frozenset, dict; and of plain JSON."""

import typing
from collections.abc import Iterable
from operator import eq
from typing import Any

import attrs
from cattrs import BaseValidationError, Converter, IterableValidationError, IterableValidationNote
from cattrs.cols import list_structure_factory
from cattrs.gen import make_mapping_structure_fn

from pragmatic_ddd_orjson.hooks import (
    Annotation,
    Entries,
    Hooks,
    UnfitError,
    Write,
    exact_hooks,
    owner_of,
    unexpected,
)
from pragmatic_ddd_orjson.scalars import SCALARS

CONTAINERS = (list, tuple, set, frozenset, dict)


@attrs.frozen
class Key:
    """What a dict's keys are annotated with. JSON has text only, so their hooks are others."""

    annotation: Annotation


def container_hooks(annotation: Annotation, converter: Converter) -> Hooks:
    """Return the hooks of ``list[int]``, ``tuple[int, str]``, ``dict[str, int]`` or such."""
    kind, arguments = owner_of(annotation), typing.get_args(annotation)
    if kind is dict:
        return _dict_hooks(converter, *(arguments or (str, Any)))
    if kind is tuple and annotation is not tuple and arguments[1:] != (Ellipsis,):
        return _row_hooks(converter, arguments)
    return _items_hooks(converter, kind, arguments[0] if arguments else Any)


def checked_hooks(annotation: Annotation, converter: Converter, segment: str) -> Hooks:
    """Return the hooks of a part; an error says which part it is."""
    try:
        write = converter.get_unstructure_hook(annotation)
        return Hooks(write, converter.get_structure_hook(annotation))
    except UnfitError as error:
        raise error.at(segment)  # noqa: B904  # the same error, further out


def _items_hooks(converter: Converter, kind: type[Any], item: Annotation) -> Hooks:
    write_item = checked_hooks(item, converter, "[]").write
    read_items = list_structure_factory(list[item], converter)
    arranged = _sorted if kind in (set, frozenset) else list

    def write(value: Iterable[object]) -> object:
        return arranged([write_item(each) for each in value])

    def read(raw: list[object], _: object) -> object:
        return kind(read_items(raw, list))

    return exact_hooks(kind, write, list, read_items if kind is list else read)


def _row_hooks(converter: Converter, items: tuple[Annotation, ...]) -> Hooks:
    parts = [checked_hooks(each, converter, f"[{i}]") for i, each in enumerate(items)]

    def write(value: tuple[object, ...]) -> object:
        if len(value) != len(parts):
            return UnfitError(f"{len(value)} items instead of {len(parts)}")
        return [part.write(each) for part, each in zip(parts, value, strict=True)]

    def read(raw: list[object], _: object) -> object:
        if len(raw) != len(parts):
            raise UnfitError(f"{len(raw)} items instead of {len(parts)}")
        row: list[object] = []
        try:
            for part, annotation, each in zip(parts, items, raw, strict=True):
                row.append(part.read(each, annotation))
        except (UnfitError, BaseValidationError) as error:
            error.add_note(IterableValidationNote("in a tuple", len(row), tuple))
            raise IterableValidationError("in a tuple", [error], tuple) from error
        return tuple(row)

    return exact_hooks(tuple, write, list, read)


def _dict_hooks(converter: Converter, key: Annotation, item: Annotation) -> Hooks:
    write_key = checked_hooks(Key(key), converter, "[key]").write
    write_item = checked_hooks(item, converter, "[]").write
    read = make_mapping_structure_fn(dict[key, item], converter, key_type=Key(key), val_type=item)
    return exact_hooks(dict, lambda value: _entries(value, write_key, write_item), dict, read)


def _sorted(items: list[Any]) -> object:
    try:
        ordered = sorted(items)
    except TypeError:
        ordered = sorted(items, key=repr)
    if any(map(eq, ordered, ordered[1:])):
        return UnfitError("two members are written in the same way, so one would be lost")
    return ordered


def _entries(value: dict[Any, Any], write_key: Write, write_item: Write) -> object:
    entries = Entries({write_key(key): write_item(item) for key, item in value.items()})
    if len(entries) < len(value):
        return UnfitError("two keys are written in the same way, so one would be lost")
    entries.keys_before = list(value)
    return entries


def _write_plain(value: Any) -> object:  # noqa: ANN401  # whatever there is
    kind = type(value)
    if kind is list:
        return [_write_plain(item) for item in value]
    if kind is dict:
        return _entries(value, SCALARS[str].write, _write_plain)
    if kind in (str, bool, float, type(None)):
        return SCALARS[kind].write(value)
    if kind is int and -(2**63) <= value < 2**64:
        return value
    return unexpected(value, "something that JSON has: annotate the field with its type")


# what JSON itself has, and nothing that looks like it
PLAIN: dict[Any, Hooks] = dict.fromkeys((Any, object), Hooks(_write_plain, lambda raw, _: raw))
