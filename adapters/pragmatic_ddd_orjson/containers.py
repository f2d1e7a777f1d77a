"""Codecs of containers: list, tuple, set, frozenset, dict; and of plain JSON."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from pragmatic_ddd_orjson.codec import Codec, Conversion, UnfitError, unexpected
from pragmatic_ddd_orjson.scalars import encode_bool, encode_float, encode_none, encode_str

_LEAST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**64 - 1


def list_codec(item: Codec) -> Codec:
    """Return the codec of ``list[item]``."""
    return Codec(_encode_items(list, item.encode), _decode_items(list, item.decode))


def tuple_codec(item: Codec) -> Codec:
    """Return the codec of ``tuple[item, ...]``."""
    return Codec(_encode_items(tuple, item.encode), _decode_items(tuple, item.decode))


def set_codec(kind: type, item: Codec) -> Codec:
    """Return the codec of ``set[item]`` or ``frozenset[item]``: equal sets, equal bytes."""
    encode_items = _encode_items(kind, item.encode)
    return Codec(lambda value: _sorted(encode_items(value)), _decode_items(kind, item.decode))


def row_codec(items: Sequence[Codec]) -> Codec:
    """Return the codec of ``tuple[first, second]``."""
    encoders = [item.encode for item in items]
    decoders = [item.decode for item in items]

    def encode(value: object) -> list[object]:
        if type(value) is not tuple:
            raise unexpected(value, "tuple")
        return _each(encoders, value)

    def decode(raw: object) -> object:
        if type(raw) is not list:
            raise unexpected(raw, "tuple")
        return tuple(_each(decoders, raw))

    return Codec(encode, decode)


def dict_codec(key: Codec, item: Codec) -> Codec:
    """Return the codec of ``dict[key, item]``; the order of insertion is kept."""
    return Codec(
        _convert_entries(key.encode, item.encode), _convert_entries(key.decode, item.decode)
    )


def plain_codec() -> Codec:
    """Return the codec of ``Any``: what JSON itself has, and nothing that looks like it."""
    return Codec(_encode_plain, lambda raw: raw)


def _encode_items(kind: type, encode: Conversion) -> Callable[[Any], list[object]]:
    def encode_items(value: Iterable[object]) -> list[object]:
        if type(value) is not kind:
            raise unexpected(value, kind.__name__)
        return _all(encode, value)

    return encode_items


def _decode_items(kind: Callable[[list[object]], Any], decode: Conversion) -> Conversion:
    def decode_items(raw: object) -> object:
        if type(raw) is not list:
            raise unexpected(raw, "list")
        return kind(_all(decode, raw))

    return decode_items


def _all(convert: Conversion, items: Iterable[object]) -> list[object]:
    converted: list[object] = []
    try:
        for item in items:
            converted.append(convert(item))  # noqa: PERF401  # its length is the index
    except UnfitError as error:
        raise error.at(f"[{len(converted)}]")  # noqa: B904  # the same error, further out
    return converted


def _each(converters: Sequence[Conversion], items: Sequence[object]) -> list[object]:
    if len(items) != len(converters):
        raise UnfitError(f"{len(items)} items instead of {len(converters)}")
    converted: list[object] = []
    try:
        for convert, item in zip(converters, items, strict=True):
            converted.append(convert(item))
    except UnfitError as error:
        raise error.at(f"[{len(converted)}]")  # noqa: B904  # the same error, further out
    return converted


def _convert_entries(convert_key: Conversion, convert: Conversion) -> Conversion:
    def convert_entries(value: object) -> dict[Any, object]:
        if type(value) is not dict:
            raise unexpected(value, "dict")
        converted: dict[Any, object] = {}
        for key, item in value.items():
            try:
                converted[convert_key(key)] = convert(item)
            except UnfitError as error:
                raise error.at(f"[{key!a:.60}]")  # noqa: B904  # the same error, further out
        return converted

    return convert_entries


def _sorted(items: list[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=orjson.dumps)


def _encode_plain(value: object) -> object:
    if type(value) is list:
        return _all(_encode_plain, value)
    if type(value) is dict:
        return _encode_plain_entries(value)
    encode = _PLAIN.get(type(value))
    if encode is None:
        raise unexpected(value, "something that JSON has: annotate the field with its type")
    return encode(value)


def _encode_plain_int(value: int) -> int:
    if not _LEAST_INTEGER <= value <= _LARGEST_INTEGER:
        raise UnfitError("more than 64 bits: annotate the field as int")
    return value


_encode_plain_entries = _convert_entries(encode_str, _encode_plain)
_PLAIN: dict[type, Conversion] = {
    str: encode_str,
    bool: encode_bool,
    int: _encode_plain_int,
    float: encode_float,
    type(None): encode_none,
}
