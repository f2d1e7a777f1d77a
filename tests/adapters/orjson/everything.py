"""An event with a field of every type that events may hold, and strategies that fill it."""

import datetime as dt
import enum
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs
from hypothesis import strategies as st

from pragmatic_ddd import DomainEvent
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


class Currency(enum.StrEnum):
    EUR = "eur"
    JPY = "jpy"


class Priority(enum.IntEnum):
    LOW = -1
    HIGH = 2**60


@attrs.frozen
class Money:
    amount: Decimal
    currency: Currency


@attrs.frozen
class Line:
    name: str
    price: Money
    tags: frozenset[str] = frozenset()


@attrs.frozen
class Card:
    number: str


@attrs.frozen
class Cash:
    given: Decimal


@attrs.frozen
class Tree:
    value: int
    children: "tuple[Tree, ...]" = ()


class Everything(DomainEvent, name="test.everything"):
    text: str
    number: int
    real: float
    truth: bool
    decimal: Decimal
    instant: dt.datetime
    day: dt.date
    hour: dt.time
    duration: dt.timedelta
    uuid: UUID
    data: bytes
    priority: Priority
    nothing: str | None
    lines: list[Line]
    by_text: dict[str, Money]
    by_number: dict[int, list[Decimal]]
    by_uuid: dict[UUID, dict[Currency, int]]
    pair: tuple[str, int, Currency]
    numbers: tuple[int, ...]
    days: set[dt.date]
    payment: Card | Cash | str | int | None
    tree: Tree
    plain: Any


def unicode_text() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def decimals() -> st.SearchStrategy[Decimal]:
    digits = st.text("0123456789", min_size=1, max_size=30)
    return st.builds(
        lambda sign, digits, exponent: Decimal((sign, tuple(map(int, digits)), exponent)),
        st.sampled_from([0, 1]),
        digits,
        st.integers(-2000, 2000),
    )


def offsets() -> st.SearchStrategy[dt.timezone]:
    seconds = st.integers(-24 * 3600 + 1, 24 * 3600 - 1)
    return seconds.map(lambda each: dt.timezone(dt.timedelta(seconds=each)))


def moneys() -> st.SearchStrategy[Money]:
    return st.builds(Money, decimals(), st.sampled_from(Currency))


def plain_json() -> st.SearchStrategy[object]:
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | unicode_text()
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(unicode_text(), inner, max_size=3)
        ),
        max_leaves=8,
    )


EVENTS = st.builds(
    Everything,
    aggregate_id=st.uuids().map(str),
    text=unicode_text(),
    number=st.integers(),
    real=st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    truth=st.booleans(),
    decimal=decimals(),
    instant=st.datetimes(timezones=offsets()).map(lambda each: each.replace(fold=0)),
    day=st.dates(),
    # fold tells apart what only a zone with summer time shows twice: it means nothing here.
    hour=st.times(timezones=st.none() | offsets()).map(lambda each: each.replace(fold=0)),
    duration=st.timedeltas(),
    uuid=st.uuids(),
    data=st.binary(max_size=50),
    priority=st.sampled_from(Priority),
    nothing=st.none() | unicode_text(),
    lines=st.lists(
        st.builds(Line, unicode_text(), moneys(), st.frozensets(unicode_text(), max_size=3)),
        max_size=3,
    ),
    by_text=st.dictionaries(unicode_text(), moneys(), max_size=3),
    by_number=st.dictionaries(st.integers(), st.lists(decimals(), max_size=3), max_size=3),
    by_uuid=st.dictionaries(
        st.uuids(), st.dictionaries(st.sampled_from(Currency), st.integers()), max_size=3
    ),
    pair=st.tuples(unicode_text(), st.integers(), st.sampled_from(Currency)),
    numbers=st.lists(st.integers(), max_size=5).map(tuple),
    days=st.sets(st.dates(), max_size=3),
    payment=st.none()
    | unicode_text()
    | st.integers()
    | st.builds(Card, unicode_text())
    | st.builds(Cash, decimals()),
    tree=st.recursive(
        st.builds(Tree, st.integers()),
        lambda inner: st.builds(Tree, st.integers(), st.lists(inner, max_size=3).map(tuple)),
        max_leaves=8,
    ),
    plain=plain_json(),
)
FIELDS = [field.name for field in attrs.fields(Everything)][6:]  # type: ignore[arg-type]  # its base made it attrs


def a_serializer(*event_types: type[DomainEvent]) -> OrjsonEventSerializer:
    registry = EventTypeRegistry(*event_types)
    return OrjsonEventSerializer(registry)


def exact(event: DomainEvent) -> list[str]:
    """Every digit and type; sets are left out, because they have no order of their own."""
    return [f"{name}: {getattr(event, name)!r}" for name in FIELDS if name not in ("days", "lines")]
