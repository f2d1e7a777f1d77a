"""Codecs of unions: ``X | None``, and ``Card | Transfer``, which is tagged.

    None, str, bool, float, int     as they are: JSON tells them apart
    an attrs class or dataclass     {"_type": "Card", "number": "42"}
    anything else, large integers   {"_type": "Decimal", "_value": "1.10"}

The tag is the class's bare name, looked up among the classes that the annotation names.
"""

from collections.abc import Mapping

import attrs

from pragmatic_ddd_orjson.codec import Codec, UnfitError, unexpected

TAG, VALUE = "_type", "_value"


@attrs.frozen
class Member:
    """One class of a union.

    Attributes:
        kind: The exact class of the values.
        codec: How they are written.
        has_fields: Whether it is written as an object that has room for the tag.
    """

    kind: type
    codec: Codec
    has_fields: bool


def optional_codec(codec: Codec) -> Codec:
    """Return the codec of ``X | None``."""
    encode, decode = codec.encode, codec.decode
    return Codec(
        lambda value: None if value is None else encode(value),
        lambda raw: None if raw is None else decode(raw),
    )


def union_codec(members: list[Member]) -> Codec:
    """Return the codec of a union of at least two classes, none of them ``None``.

    Raises:
        UnfitError: Two of them have the same class or the same name.
    """
    by_kind = {member.kind: member for member in members}
    by_tag = {member.kind.__name__: member for member in members}
    if not len(members) == len(by_kind) == len(by_tag):
        raise UnfitError("two of the union's types have the same class or the same class name")
    expected = " or ".join(by_tag)
    if float in by_kind:
        by_kind.setdefault(int, by_kind[float])  # a float field may hold an int

    def encode(value: object) -> object:
        for kind in type(value).__mro__:
            member = by_kind.get(kind)
            if member is not None:
                return _tagged(member, member.codec.encode(value))
        raise unexpected(value, expected)

    def decode(raw: object) -> object:
        if type(raw) is dict:
            return _decode_tagged(by_tag, raw, expected)
        member = by_kind.get(type(raw))
        if member is None or member.kind not in _TOLD_APART:
            raise unexpected(raw, expected)
        return member.codec.decode(raw)

    return Codec(encode, decode)


def _tagged(member: Member, encoded: object) -> object:
    if member.has_fields and isinstance(encoded, dict):
        return {TAG: member.kind.__name__, **encoded}
    if member.kind in _TOLD_APART and type(encoded) is member.kind:
        return encoded
    return {TAG: member.kind.__name__, VALUE: encoded}


def _decode_tagged(by_tag: Mapping[str, Member], raw: dict[str, object], expected: str) -> object:
    tag = raw.get(TAG)
    member = by_tag.get(tag) if isinstance(tag, str) else None
    if member is None:
        raise UnfitError(f"tag {TAG} is {tag!r:.60}, not {expected}")
    if member.has_fields:
        return member.codec.decode(raw)
    if VALUE not in raw:
        raise UnfitError("is missing").at(f".{VALUE}")
    return member.codec.decode(raw[VALUE])


_TOLD_APART = frozenset({str, bool, int, float})
