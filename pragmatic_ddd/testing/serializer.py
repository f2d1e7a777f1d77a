"""Contract of ``IEventSerializer``: subclass it, provide a ``serializer`` fixture, run pytest.

    class TestMine(EventSerializerContract):
        @pytest.fixture
        def serializer(self) -> IEventSerializer: ...

It knows ``CONTRACT_EVENTS`` and, from version 1 of ``ContractSigned``, ``signed_from_version_1``.
"""

import dataclasses
import datetime as dt
import enum
import json
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

import attrs
import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import (
    EventDeserializationError,
    EventSerializationError,
    UnknownEventTypeError,
)
from pragmatic_ddd.ports import IEventSerializer


class Currency(enum.Enum):
    """An enum with text."""

    EUR = "eur"
    JPY = "jpy"


class Size(enum.IntEnum):
    """An enum with numbers."""

    SMALL = 1
    LARGE = 2


class Colour(enum.StrEnum):
    """An enum that is text."""

    RED = "red"


class Rate(enum.Enum):
    """An enum with numbers that are no JSON numbers."""

    REDUCED = Decimal("0.070")
    FULL = Decimal("0.190")


@attrs.frozen
class Money:
    """A value object."""

    amount: Decimal
    currency: Currency = Currency.EUR


@attrs.frozen
class Line:
    """A value object that holds another one."""

    name: str
    price: Money


@attrs.frozen
class ServiceLine(Line):
    """A value object that is more than its base class."""

    hours: int = 0


@dataclasses.dataclass(frozen=True)
class Card:
    """A dataclass."""

    number: str


@attrs.frozen
class Transfer:
    """Another way to pay."""

    account: str
    due: dt.date | None = None


@attrs.frozen
class Folder:
    """A value object that holds its own kind."""

    name: str
    folders: "tuple[Folder, ...]" = ()


class ValuesRecorded(DomainEvent, name="contract.values.recorded"):
    """One field for each kind of value."""

    text: str | None = None
    number: int | None = None
    real: float | None = None
    truth: bool | None = None
    decimal: Decimal | None = None
    instant: dt.datetime | None = None
    day: dt.date | None = None
    hour: dt.time | None = None
    duration: dt.timedelta | None = None
    uuid: UUID | None = None
    data: bytes | None = None
    currency: Currency | None = None
    size: Size | None = None
    colour: Colour | None = None
    rate: Rate | None = None
    money: Money | None = None
    line: Line | None = None
    lines: list[Line] | None = None
    pair: tuple[int, str] | None = None
    numbers: tuple[int, ...] | None = None
    words: set[str] | None = None
    uuids: frozenset[UUID] | None = None
    by_text: dict[str, Money] | None = None
    by_number: dict[int, Line] | None = None
    by_uuid: dict[UUID, Decimal] | None = None
    by_enum: dict[Currency, list[Decimal | None]] | None = None
    payment: Card | Transfer | None = None
    payments: list[Card | Transfer] | None = None
    text_or_number: str | int | None = None
    folder: Folder | None = None
    nested: dict[str, list[tuple[int, frozenset[Size]]]] | None = None


class ContractSigned(
    DomainEvent, name="contract.signed", version=2, aliases=("contract.accepted",)
):
    """An event with a past: it had another name, and ``signer`` was ``by``."""

    signer: str
    pages: int = 1


class NeverRegistered(DomainEvent, name="contract.never_registered"):
    """An event that can be written, but not read."""

    text: str


def signed_from_version_1(raw: dict[str, Any]) -> dict[str, Any]:
    """Bring a payload of ``ContractSigned`` from version 1 to version 2."""
    raw["signer"] = raw.pop("by")
    return raw


Alteration = Callable[[dict[str, Any]], object]
CONTRACT_EVENTS = (ValuesRecorded, ContractSigned)

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


class EventSerializerContract:
    """What every serializer promises: values come back equal and of their type, or are refused.

    Attributes:
        keeps_field_paths: Whether errors name the field with its whole path.
    """

    keeps_field_paths: ClassVar[bool] = True

    @pytest.mark.parametrize(("field", "value"), ROUND_TRIPS)
    def test_a_value_comes_back_equal_and_of_its_type(
        self, serializer: IEventSerializer, field: str, value: object
    ) -> None:
        event = self._event(field, value)

        payload = serializer.serialize(event)

        read = self._read(serializer, payload)
        assert read == event
        assert shape(getattr(read, field)) == shape(value)

    @pytest.mark.parametrize(("field", "value"), ROUND_TRIPS)
    def test_the_payload_is_strict_json_without_nul(
        self, serializer: IEventSerializer, field: str, value: object
    ) -> None:
        payload = serializer.serialize(self._event(field, value))

        assert b"\0" not in payload
        assert isinstance(json.loads(payload, parse_constant=_refuse_constant), dict)

    @pytest.mark.parametrize(("field", "value", "path"), REFUSALS)
    def test_a_value_that_would_not_come_back_is_refused(
        self, serializer: IEventSerializer, field: str, value: object, path: str
    ) -> None:
        event = self._event(field, value)

        with pytest.raises(EventSerializationError) as refusal:
            serializer.serialize(event)

        assert refusal.value.event_type == "contract.values.recorded"
        if self.keeps_field_paths:
            assert refusal.value.field.startswith(path)

    def test_what_every_event_carries_comes_back(self, serializer: IEventSerializer) -> None:
        event = ContractSigned(aggregate_id="c-1", signer="Ada", operation_code="sign", pages=3)

        placed = event.placed_at(7, 2)

        assert self._read(serializer, serializer.serialize(placed), "contract.signed", 2) == placed

    def test_equal_events_have_equal_payloads(self, serializer: IEventSerializer) -> None:
        numbers = range(1, 100)
        event = self._event("uuids", frozenset(UUID(int=number) for number in numbers))
        other = frozenset(UUID(int=number) for number in reversed(numbers))
        same = attrs.evolve(event, uuids=other)  # type: ignore[misc]  # its base made it attrs

        assert serializer.serialize(event) == serializer.serialize(same)

    def test_an_event_can_be_written_without_being_registered(
        self, serializer: IEventSerializer
    ) -> None:
        payload = serializer.serialize(NeverRegistered(aggregate_id="1", text="x"))

        assert json.loads(payload)["text"] == "x"
        with pytest.raises(UnknownEventTypeError) as unknown:
            self._read(serializer, payload, "contract.never_registered")
        assert unknown.value.event_type == "contract.never_registered"

    def test_a_newer_version_is_not_known_yet(self, serializer: IEventSerializer) -> None:
        payload = serializer.serialize(self._signed())

        with pytest.raises(UnknownEventTypeError) as unknown:
            self._read(serializer, payload, "contract.signed", 3)
        assert unknown.value.event_version == 3

    def test_a_former_name_is_understood(self, serializer: IEventSerializer) -> None:
        event = self._signed()

        assert self._read(serializer, serializer.serialize(event), "contract.accepted", 2) == event

    def test_an_older_version_is_brought_up_to_date(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        older = self._altered(serializer, event, lambda raw: raw.update(by=raw.pop("signer")))

        assert self._read(serializer, older, "contract.signed", 1) == event

    def test_an_older_payload_that_is_not_of_that_version_is_refused(
        self, serializer: IEventSerializer
    ) -> None:
        with pytest.raises(EventDeserializationError):
            self._read(serializer, serializer.serialize(self._signed()), "contract.signed", 1)

    def test_fields_that_are_not_known_are_passed_over(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        newer = self._altered(serializer, event, lambda raw: raw.update(colour="red"))

        assert self._read(serializer, newer, "contract.signed", 2) == event

    def test_a_missing_field_takes_its_default(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        older = self._altered(serializer, event, lambda raw: raw.pop("pages"))

        assert self._read(serializer, older, "contract.signed", 2) == event

    def test_a_missing_field_without_a_default_is_named(self, serializer: IEventSerializer) -> None:
        broken = self._altered(serializer, self._signed(), lambda raw: raw.pop("signer"))

        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, broken, "contract.signed", 2)
        assert refusal.value.field == "signer"

    @pytest.mark.parametrize(
        "payload", [b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xff\xfe", b'{"aggregate_id": 1}']
    )
    def test_what_is_not_the_event_is_refused(
        self, serializer: IEventSerializer, payload: bytes
    ) -> None:
        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, payload)
        assert refusal.value.event_type == "contract.values.recorded"

    @pytest.mark.parametrize(
        ("field", "raw"),
        [
            ("text", 5),
            ("number", "five"),
            ("number", 1.0),
            ("number", True),
            ("decimal", 1.5),
            ("instant", "2026-01-02T03:04:05"),
            ("instant", "yesterday"),
            ("uuid", "no uuid"),
            ("data", "%%%"),
            ("currency", "usd"),
            ("currency", ["eur"]),
            ("money", []),
            ("money", {"currency": "eur"}),
            ("lines", {}),
            ("lines", "abc"),
            ("pair", [1]),
            ("by_number", {"x": {}}),
            ("payment", {"number": "1"}),
        ],
    )
    def test_a_value_of_the_wrong_shape_is_refused(
        self, serializer: IEventSerializer, field: str, raw: object
    ) -> None:
        event = self._event("truth", True)  # noqa: FBT003  # the value of that field
        broken = self._altered(serializer, event, lambda found: found.update({field: raw}))

        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, broken)
        assert refusal.value.field.startswith(field)

    def _event(self, field: str, value: object) -> ValuesRecorded:
        fields: dict[str, Any] = {field: value}
        return ValuesRecorded(aggregate_id="v-1", **fields)

    def _signed(self) -> ContractSigned:
        return ContractSigned(aggregate_id="c-1", signer="Ada")

    def _read(
        self,
        serializer: IEventSerializer,
        payload: bytes,
        event_type: str = "contract.values.recorded",
        event_version: int = 1,
    ) -> DomainEvent:
        return serializer.deserialize(payload, event_type=event_type, event_version=event_version)

    def _altered(
        self, serializer: IEventSerializer, event: DomainEvent, alter: Alteration
    ) -> bytes:
        raw = json.loads(serializer.serialize(event))
        alter(raw)
        return json.dumps(raw).encode()


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


def _refuse_constant(name: str) -> object:
    raise AssertionError(f"{name} is not JSON")
