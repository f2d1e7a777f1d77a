"""Tracking: what became of a collection since it was loaded.

Nothing is recorded while a collection changes. It remembers what was loaded, and compares when
it is asked: so every operation of a list or a dict is tracked, and so are items that were
changed in place.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar, runtime_checkable

import attrs

from pragmatic_ddd.domain.entity import MARKS, Entity

KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")

_COLLECTIONS = (list, tuple, Mapping, set, frozenset)


@runtime_checkable
class ITrackable(Protocol):
    """An item that stays the same one while its values change, known by its id: every entity."""

    @property
    def id(self) -> object:
        """Return the identity; ``None`` until it is given."""


@attrs.frozen(kw_only=True)
class Changes(Generic[KeyT, ItemT]):
    """What to do to what was loaded, so that it becomes what is there now. False: nothing.

    Attributes:
        added: New items, by the place that they have now.
        updated: Items that were loaded with other values, by the place that they have now.
        removed: Items that are no longer there, by the place that they were loaded at.
        moved: Where items are now that have another place, updated ones too, by the place that
            they were loaded at. In a dict nothing moves: what has another key is another item.
    """

    added: Mapping[KeyT, ItemT]
    updated: Mapping[KeyT, ItemT]
    removed: Mapping[KeyT, ItemT]
    moved: Mapping[KeyT, KeyT] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed or self.moved)


@attrs.frozen
class LoadedItem(Generic[ItemT]):
    """An item, and what it was like when it was loaded.

    Attributes:
        item: The object itself; it may have changed since.
        key: By what it is known.
        state: Its values, apart from the object.
    """

    item: ItemT
    key: object
    state: object


def state_of(value: object) -> object:
    """Return the values of an object, apart from it: what changes in place shows in the next one.

    Attrs classes, with the marks of entities, dataclasses, lists, tuples, dicts and sets are
    looked into, to any depth; everything else is taken for immutable, and compared with ``==``.
    Values of two types are never the same.
    """
    return _state_of(value, frozenset())


def state_of_item(item: object) -> object:
    """Return the values of an item, as ``state_of``, if its changes in place can be seen there.

    Raises:
        TypeError: It can change, and cannot be looked into: it has an ``id``, no hash, or
            attributes and no ``==`` of its own.
    """
    kind = type(item)
    if not _is_looked_into(item) and not isinstance(item, (enum.Enum, type)):
        has_hash = getattr(kind, "__hash__", None) is not None  # object's type says it always has
        is_equal_to_itself_only = kind.__eq__ is object.__eq__ and hasattr(item, "__dict__")
        if isinstance(item, ITrackable) or not has_hash or is_equal_to_itself_only:
            raise TypeError(
                f"{kind.__qualname__}: a change in place would not be seen; make it an entity, an "
                f"attrs class or a dataclass, or a value with __eq__, __hash__ and no id"
            )
    return state_of(item)


def _is_looked_into(value: object) -> bool:
    return _field_names(type(value)) is not None or isinstance(value, _COLLECTIONS)


def _field_names(kind: type) -> list[str] | None:
    """Return the names of the fields of an attrs class or a dataclass."""
    if attrs.has(kind):
        return [field.name for field in attrs.fields(kind)]
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return None


def _state_of(value: object, outer: frozenset[int]) -> object:
    kind = type(value)
    if id(value) in outer:  # a child that knows its parent
        return kind, None
    within = outer | {id(value)}
    names = _field_names(kind)
    if names is not None:
        if isinstance(value, Entity):  # its marks are no fields, and stored all the same
            names += MARKS
        return kind, [_state_of(getattr(value, name, None), within) for name in names]
    if isinstance(value, (list, tuple)):
        return kind, [_state_of(item, within) for item in value]
    if isinstance(value, Mapping):
        return kind, {key: _state_of(item, within) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return kind, frozenset(value)
    return kind, value
