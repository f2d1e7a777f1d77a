"""The codec of any annotation, made once: the one place that says which types events may hold."""

import enum
import threading
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pragmatic_ddd_orjson.choices import enum_codec, literal_codec
from pragmatic_ddd_orjson.classes import class_codec, fields_of, is_class_with_fields
from pragmatic_ddd_orjson.codec import Annotation, Codec, UnfitError, owner_of
from pragmatic_ddd_orjson.containers import (
    dict_codec,
    list_codec,
    plain_codec,
    row_codec,
    set_codec,
    tuple_codec,
)
from pragmatic_ddd_orjson.scalars import SCALARS, text_codec
from pragmatic_ddd_orjson.unions import TAG, Member, optional_codec, union_codec

_UNIONS = (typing.Union, types.UnionType)


@attrs.frozen
class TextFormat:
    """How values of a class of your own are written: as one exact text.

    Attributes:
        write: From a value to its text; a ``ValueError`` refuses the value.
        read: From that text to an equal value; a ``ValueError`` refuses the text.
    """

    write: Callable[[Any], str]
    read: Callable[[str], Any]


@attrs.define
class ValueCodecs:
    """Codecs by annotation. Safe to share between threads.

    Attributes:
        text_formats: Classes beyond those that are known, such as a ULID of some library.
    """

    text_formats: Mapping[type, TextFormat] = attrs.field(factory=dict, kw_only=True)
    _known: dict[object, Codec] = attrs.field(factory=dict, init=False, repr=False)
    _making: dict[object, Codec] = attrs.field(factory=dict, init=False, repr=False)
    _lock: threading.RLock = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._known.update(SCALARS)
        for kind, text in self.text_formats.items():
            self._known[kind] = text_codec(kind, text.write, text.read)

    def of(self, annotation: Annotation) -> Codec:
        """Return the codec of an annotation, of an event class for instance.

        Raises:
            UnfitError: Some type in it cannot be written so that it comes back.
        """
        known = self._known.get(annotation)
        if known is not None:
            return known
        with self._lock:
            try:
                codec = self._of(annotation)
                self._known.update(self._making)
            finally:
                self._making.clear()
        return codec

    def _of(self, annotation: Annotation) -> Codec:
        meant = _meant(annotation)
        known = self._known.get(meant) or self._making.get(meant)
        if known is not None:
            return known
        unfinished = _Unfinished()
        self._making[meant] = Codec(unfinished.encode, unfinished.decode)
        codec = self._making[meant] = unfinished.codec = self._make(meant)
        return codec

    def _make(self, annotation: Annotation) -> Codec:
        owner = owner_of(annotation)
        arguments = typing.get_args(annotation)
        if annotation is Any or annotation is object:
            return plain_codec()
        if owner in _UNIONS:
            return self._union(arguments)
        if owner is typing.Literal:
            return literal_codec(arguments)
        if owner in _CONTAINERS:
            return self._container(annotation, arguments)
        return self._class(annotation, owner)

    def _class(self, annotation: Annotation, owner: Annotation) -> Codec:
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return enum_codec(owner)
        if is_class_with_fields(owner):
            codecs = {f: self._part(f.annotation, f".{f.name}") for f in fields_of(annotation)}
            return class_codec(owner, codecs)
        raise UnfitError(f"{annotation!r} {_HINTS.get(owner, 'is no type that events may hold')}")

    def _container(self, annotation: Annotation, arguments: tuple[Annotation, ...]) -> Codec:
        kind = owner_of(annotation)
        if kind is dict:
            return self._dict(*(arguments or (str, Any)))
        if kind is tuple and annotation is not tuple and arguments[1:] != (Ellipsis,):
            return row_codec([self._part(each, f"[{i}]") for i, each in enumerate(arguments)])
        item = self._part(arguments[0] if arguments else Any, "[]")
        if kind is list:
            return list_codec(item)
        return tuple_codec(item) if kind is tuple else set_codec(kind, item)

    def _dict(self, key: Annotation, item: Annotation) -> Codec:
        key_codec = self._part(key, "[key]").as_key
        if key_codec is None:
            raise UnfitError(f"{key!r} cannot be a key in JSON").at("[key]")
        return dict_codec(key_codec, self._part(item, "[]"))

    def _union(self, arguments: tuple[Annotation, ...]) -> Codec:
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1:
            codec = self._of(others[0])
        else:
            codec = union_codec([self._member(each) for each in others])
        return codec if len(others) == len(arguments) else optional_codec(codec)

    def _member(self, annotation: Annotation) -> Member:
        meant = _meant(annotation)
        owner = owner_of(meant)
        if not isinstance(owner, type):
            raise UnfitError(f"{annotation!r} cannot be part of a union")
        has_fields = is_class_with_fields(owner)
        if has_fields and any(field.name == TAG for field in fields_of(meant)):
            raise UnfitError(f"{owner.__name__}.{TAG} has the name of the union's tag")
        return Member(owner, self._of(meant), has_fields)

    def _part(self, annotation: Annotation, segment: str) -> Codec:
        try:
            return self._of(annotation)
        except UnfitError as error:
            raise error.at(segment)  # noqa: B904  # the same error, further out


@attrs.define
class _Unfinished:
    """Stands for a class inside itself, such as a tree's node, while its codec is made."""

    codec: Codec | None = None

    def encode(self, value: object) -> object:
        assert self.codec is not None  # noqa: S101  # set before anything is converted
        return self.codec.encode(value)

    def decode(self, raw: object) -> object:
        assert self.codec is not None  # noqa: S101  # set before anything is converted
        return self.codec.decode(raw)


def _meant(annotation: Annotation) -> Annotation:
    """Return the type behind ``Annotated``, ``Final``, a ``NewType`` or a ``type`` statement."""
    while True:
        if owner_of(annotation) in (typing.Annotated, typing.Final):
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # from Python 3.12
            annotation = annotation.__value__
        else:
            return annotation


_CONTAINERS = (list, tuple, set, frozenset, dict)
_HINTS: dict[object, str] = {
    abc.Sequence: "may be a list or a tuple: annotate list[...] or tuple[..., ...]",
    abc.Iterable: "may be a list or a tuple: annotate list[...] or tuple[..., ...]",
    abc.Collection: "may be a list or a tuple: annotate list[...] or tuple[..., ...]",
    abc.Mapping: "may be any mapping: annotate dict[..., ...]",
    abc.MutableMapping: "may be any mapping: annotate dict[..., ...]",
    abc.Set: "may be a set or a frozenset: annotate frozenset[...] or set[...]",
}
