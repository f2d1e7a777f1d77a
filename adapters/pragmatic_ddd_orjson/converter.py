"""The converter: which types events may hold, and the hooks of each, made once.

cattrs knows how to take classes apart, put them together and say where that failed. It is also
kind: it makes a list of any text and an int of any float, and finds for ``Colour(str, Enum)`` the
hook of ``str``. An event must come back as it was, so here a type has its own hook or none.
"""

import enum
import inspect
import threading
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs
from cattrs import BaseValidationError, Converter

from pragmatic_ddd.ports.value_codec import ValueCodec
from pragmatic_ddd_orjson.choices import enum_hooks, literal_hooks
from pragmatic_ddd_orjson.classes import class_hooks, has_fields
from pragmatic_ddd_orjson.containers import CONTAINERS, PLAIN, Key, container_hooks
from pragmatic_ddd_orjson.hooks import Annotation, Hooks, UnfitError, meant, owner_of
from pragmatic_ddd_orjson.paths import first_failure, first_refusal
from pragmatic_ddd_orjson.scalars import KEYS, SCALARS, text_hooks
from pragmatic_ddd_orjson.unions import union_hooks

T = TypeVar("T")

_CONCRETE = "list[...], tuple[..., ...], dict[..., ...], set[...] or frozenset[...]"


@attrs.frozen
class TextFormat:
    """How values of a class of your own are written: as one exact text.

    Attributes:
        write: From a value to its text; a ``ValueError`` refuses the value.
        read: From that text to an equal value; a ``ValueError`` refuses the text.
    """

    write: Callable[[Any], str]
    read: Callable[[str], Any]


class ValueCodecs(Converter):
    """A cattrs converter that is strict. Safe to share between threads.

    Args:
        text_formats: Classes beyond those that are known, such as a ULID of some library.
    """

    def __init__(self, *, text_formats: Mapping[type, TextFormat] | None = None) -> None:
        super().__init__()
        own = {
            kind: text_hooks(kind, text.write, text.read)
            for kind, text in (text_formats or {}).items()
        }
        self._keys: dict[Annotation, Hooks] = KEYS | own
        self._given: dict[Annotation, Hooks] = SCALARS | PLAIN | own
        self._hooks = dict(self._given)
        self._lock = threading.RLock()

    def hooks(self, annotation: Annotation) -> Hooks:
        """Return both directions for an annotation, of an event class for instance.

        Raises:
            UnfitError: Some type in it cannot be written so that it comes back.
        """
        with self._lock:
            return self._hooks.get(annotation) or self._made(annotation)

    def codec(self, kind: type[T]) -> ValueCodec[T]:
        """Return what writes and reads values of one type, as they are written in events.

        Args:
            kind: A class, or an annotation such as ``tuple[Money, ...]``.

        Raises:
            TypeError: Some type in it cannot be written so that it comes back.
        """
        try:
            hooks = self.hooks(kind)
        except UnfitError as error:
            raise TypeError(f"{kind!r}{error.path}: {error.reason}") from error

        def to_json(value: T) -> object:
            written = hooks.write(value)
            refusal = first_refusal(written)
            if refusal is not None:
                raise ValueError(": ".join(filter(None, refusal)))
            return written

        def from_json(raw: object) -> T:
            try:
                value: T = hooks.read(raw, kind)
            except (UnfitError, BaseValidationError, RecursionError) as error:
                raise ValueError(": ".join(filter(None, first_failure(error)))) from error
            return value

        return ValueCodec(kind=kind, to_json=to_json, from_json=from_json)

    def get_unstructure_hook(
        self,
        type: Annotation,  # noqa: A002  # its name in cattrs
        cache_result: bool = True,  # noqa: FBT001, FBT002  # as above
    ) -> Callable[[Any], Any]:
        """Return what writes a type, for the functions that cattrs generates."""
        return self.hooks(type).write

    def get_structure_hook(
        self,
        type: Annotation,  # noqa: A002  # its name in cattrs
        cache_result: bool = True,  # noqa: FBT001, FBT002  # as above
    ) -> Callable[[Any, Any], Any]:
        """Return what reads a type, for the functions that cattrs generates."""
        return self.hooks(type).read

    def _made(self, annotation: Annotation) -> Hooks:
        made: list[Hooks] = []
        try:
            # For a type inside itself, such as a tree's node.
            self._hooks[annotation] = _later(made)
            made.append(self._make(meant(annotation)))
        except BaseException:  # an interrupt, too: the next one who asks must not find an empty one
            self._hooks = dict(self._given)  # the others may need the one that failed
            raise
        self._hooks[annotation] = made[0]
        return made[0]

    def _make(self, annotation: Annotation) -> Hooks:
        owner, arguments = owner_of(annotation), typing.get_args(annotation)
        if annotation in self._given:
            return self._given[annotation]
        if isinstance(annotation, Key):
            return self._key(meant(annotation.annotation))
        if owner in (typing.Union, types.UnionType):
            return union_hooks(arguments, self)
        if owner is typing.Literal:
            return literal_hooks(arguments)
        if owner in CONTAINERS:
            return container_hooks(annotation, self)
        return self._class(annotation, owner)

    def _key(self, annotation: Annotation) -> Hooks:
        if annotation in self._keys:
            return self._keys[annotation]
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return enum_hooks(annotation, as_keys=True)
        raise UnfitError(f"{annotation!r} cannot be a key in JSON")

    def _class(self, annotation: Annotation, owner: Annotation) -> Hooks:
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return enum_hooks(owner)
        if has_fields(owner):
            return class_hooks(annotation, self)
        if inspect.isabstract(owner) and issubclass(owner, Iterable):
            raise UnfitError(f"{annotation!r} may be one of several: annotate {_CONCRETE}")
        raise UnfitError(f"{annotation!r} is no type that events may hold")


def _later(made: list[Hooks]) -> Hooks:
    def write(value: object) -> object:
        return made[0].write(value)

    def read(raw: object, kind: object) -> object:
        return made[0].read(raw, kind)

    return Hooks(write, read)
