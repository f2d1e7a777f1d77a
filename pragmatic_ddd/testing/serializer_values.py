"""The values of the serializer contract: those that come back, and those that are refused."""

import dataclasses
import datetime as dt
import zoneinfo
from decimal import Decimal
from uuid import UUID

import attrs

from pragmatic_ddd.testing.serializer_events import (
    Card,
    Colour,
    Currency,
    Folder,
    Line,
    Money,
    Rate,
    ServiceLine,
    Size,
    Transfer,
)

_ID = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
_ODD_TEXT = 'a\x00b \x1f \u2028 \ufffe é \N{GRINNING FACE} \U0002a6d6 "quoted" back\\slash\r\n'
_KYOTO = dt.timezone(dt.timedelta(hours=9))

ROUND_TRIPS: list[tuple[str, object]] = [
    ("text", ""),
    ("text", _ODD_TEXT),
    ("text", "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)]))),
    *[("number", value) for value in (0, -1, 2**53, -(2**53), 2**63, 2**64, -(2**200))],
    *[("real", value) for value in (0.0, -0.0, 0.1, 1.0, 5e-324, 1.7976931348623157e308, 3)],
    *[("truth", value) for value in (True, False)],
    *[
        ("decimal", Decimal(text))
        for text in ("1.1", "1.10", "0.1234567890123456789", "1E+2", "-0", "0E-10", "1E+1000")
    ],
    ("instant", dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
    ("instant", dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=_KYOTO)),
    ("instant", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=zoneinfo.ZoneInfo("America/New_York"))),
    ("instant", dt.datetime.max.replace(tzinfo=dt.UTC)),
    ("instant", dt.datetime.min.replace(tzinfo=_KYOTO)),
    ("day", dt.date(2024, 2, 29)),
    ("hour", dt.time(23, 59, 59, 999999)),
    ("hour", dt.time(1, 2, tzinfo=_KYOTO)),
    *[
        ("duration", value)
        for value in (
            dt.timedelta(),
            dt.timedelta(microseconds=-1),
            dt.timedelta(days=3, seconds=5, microseconds=70),
            dt.timedelta.max,
            dt.timedelta.min,
        )
    ],
    ("uuid", _ID),
    *[("data", value) for value in (b"", b"\x00\xff", bytes(range(256)))],
    *[("currency", value) for value in Currency],
    *[("size", value) for value in Size],
    ("colour", Colour.RED),
    ("rate", Rate.REDUCED),
    ("money", Money(Decimal("9.90"), Currency.JPY)),
    ("line", Line("book", Money(Decimal("1.0")))),
    ("lines", []),
    ("lines", [Line("book", Money(Decimal("1.0"))), Line("", Money(Decimal("-0")))]),
    ("pair", (2**60, "x")),
    ("numbers", ()),
    ("numbers", (1, 2**100, -3)),
    ("words", {"b", "a", _ODD_TEXT}),
    ("uuids", frozenset([_ID, UUID(int=0)])),
    ("by_text", {"": Money(Decimal(1)), _ODD_TEXT: Money(Decimal(2))}),
    ("by_number", {-1: Line("a", Money(Decimal(1))), 2**70: Line("b", Money(Decimal(2)))}),
    ("by_uuid", {_ID: Decimal("1.50")}),
    ("by_enum", {Currency.JPY: [Decimal("1.50"), None], Currency.EUR: []}),
    ("payment", Card("4242")),
    ("payment", Transfer("DE02", dt.date(2026, 1, 2))),
    ("payments", [Transfer("DE02"), Card("4242")]),
    ("text_or_number", "1"),
    ("text_or_number", 1),
    ("text_or_number", 2**80),
    ("folder", Folder("a", (Folder("b"), Folder("c", (Folder("d"),))))),
    ("nested", {"x": [(1, frozenset([Size.LARGE, Size.SMALL])), (2, frozenset())]}),
]

REFUSALS: list[tuple[str, object, str]] = [
    ("text", "half \ud800", "text"),
    ("text", 5, "text"),
    ("number", True, "number"),
    ("number", "5", "number"),
    ("truth", 1, "truth"),
    ("real", float("nan"), "real"),
    ("real", float("inf"), "real"),
    ("real", float("-inf"), "real"),
    ("decimal", Decimal("NaN"), "decimal"),
    ("decimal", Decimal("-Infinity"), "decimal"),
    ("decimal", 1.5, "decimal"),
    ("instant", dt.datetime(2026, 1, 2), "instant"),  # noqa: DTZ001  # this is what is refused
    ("day", dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "day"),
    ("uuid", str(_ID), "uuid"),
    ("data", bytearray(b"x"), "data"),
    ("currency", "eur", "currency"),
    ("line", ServiceLine("a", Money(Decimal(1)), 3), "line"),
    ("line", {"name": "a"}, "line"),
    ("lines", (Line("a", Money(Decimal(1))),), "lines"),
    (
        "lines",
        [Line("a", Money(Decimal(1))), Line("b", Money(Decimal("NaN")))],
        "lines[1].price.amount",
    ),
    ("pair", (1, "x", 2), "pair"),
    ("pair", (1, "\udfff"), "pair[1]"),
    ("numbers", [1], "numbers"),
    ("by_text", {"a": Money(1)}, "by_text['a'].amount"),  # type: ignore[arg-type]  # the mistake
    ("by_enum", {Currency.EUR: [Decimal(1), Decimal("sNaN")]}, "by_enum["),
    ("payment", Money(Decimal(1)), "payment"),
    ("payments", [Card("\ud83d")], "payments[0].number"),
    ("folder", Folder("a", (Folder("b"), Folder("\ud800"))), "folder.folders[1].name"),
]


def shape(value: object) -> object:
    """Return types and exact forms in depth: what ``==`` overlooks, such as 1.0 and 1.00."""
    if attrs.has(type(value)) or dataclasses.is_dataclass(value):
        return type(value), [shape(each) for each in _parts(value)]
    if isinstance(value, dict):
        return dict, [(shape(key), shape(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [shape(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return type(value), {shape(each) for each in value}
    if isinstance(value, dt.datetime):
        return dt.datetime, value.replace(tzinfo=None), value.utcoffset()
    return type(value), repr(value)


def _parts(value: object) -> list[object]:
    kind = type(value)
    fields = attrs.fields(kind) if attrs.has(kind) else dataclasses.fields(value)  # type: ignore[arg-type]  # one or the other
    return [getattr(value, field.name) for field in fields]
