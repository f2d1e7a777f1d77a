"""Whatever hypothesis makes comes back equal and of its type, or is refused."""

import datetime as dt
import enum
import json
import zoneinfo
from contextlib import suppress
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, EventSerializationError
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
OFTEN = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FIELDS = [field.name for field in attrs.fields(Everything)][6:]  # type: ignore[arg-type]  # its base made it attrs


def a_serializer(*event_types: type[DomainEvent]) -> OrjsonEventSerializer:
    registry = EventTypeRegistry(*event_types)
    return OrjsonEventSerializer(registry)


SERIALIZER = a_serializer(Everything)


def exact(event: DomainEvent) -> list[str]:
    """Every digit and type; sets are left out, because they have no order of their own."""
    return [f"{name}: {getattr(event, name)!r}" for name in FIELDS if name not in ("days", "lines")]


def refuse(constant: str) -> object:
    raise AssertionError(constant)


def read(payload: bytes) -> DomainEvent:
    return SERIALIZER.deserialize(payload, event_type="test.everything", event_version=1)


@given(EVENTS)
@OFTEN
def test_an_event_comes_back_as_it_was(event: Everything) -> None:
    payload = SERIALIZER.serialize(event)
    back = read(payload)

    assert back == event
    assert exact(back) == exact(event)
    assert SERIALIZER.serialize(back) == payload


@given(EVENTS)
@OFTEN
def test_the_payload_is_strict_json(event: Everything) -> None:
    payload = SERIALIZER.serialize(event)

    assert b"\0" not in payload
    raw = json.loads(payload, parse_constant=refuse)
    assert list(raw)[:2] == ["aggregate_id", "event_id"]


@given(EVENTS, st.data())
@OFTEN
def test_a_broken_payload_is_refused_or_still_an_event(
    event: Everything, data: st.DataObject
) -> None:
    raw = json.loads(SERIALIZER.serialize(event))
    name = data.draw(st.sampled_from(sorted(raw)))
    if data.draw(st.booleans()):
        del raw[name]
    else:
        raw[name] = data.draw(plain_json())
    payload = json.dumps(raw).encode()

    with suppress(EventDeserializationError):
        back = read(payload)
        assert read(SERIALIZER.serialize(back)) == back


@given(st.binary(max_size=60) | unicode_text().map(str.encode))
@OFTEN
def test_garbage_is_refused(payload: bytes) -> None:
    with pytest.raises(EventDeserializationError):
        read(payload)


@given(EVENTS, st.data())
@OFTEN
def test_what_is_written_reads_back_whatever_its_type(
    event: Everything, data: st.DataObject
) -> None:
    """A value of a wrong type is refused, or comes back as it was: never as something else."""
    name, other = data.draw(st.tuples(st.sampled_from(FIELDS), st.sampled_from(FIELDS)))
    changed = attrs.evolve(event, **{name: getattr(event, other)})  # type: ignore[misc]  # its base made it attrs

    try:
        payload = SERIALIZER.serialize(changed)
    except EventSerializationError as error:
        found = error.field
        assert found.startswith(name)  # it may also be written
    else:
        assert exact(read(payload)) == exact(changed)


class Moment(DomainEvent, name="test.moment"):
    at: dt.datetime


MOMENTS = a_serializer(Moment)


@given(st.datetimes(timezones=st.timezones()))
@OFTEN
def test_a_moment_in_a_zone_comes_back_as_the_same_instant(at: dt.datetime) -> None:
    event = Moment(aggregate_id="1", at=at)

    back = MOMENTS.deserialize(MOMENTS.serialize(event), event_type="test.moment", event_version=1)

    assert isinstance(back, Moment)
    assert back.at.replace(tzinfo=None) == at.replace(tzinfo=None)
    assert back.at.utcoffset() == at.utcoffset()


def test_python_finds_no_moment_of_another_zone_equal_to_one_that_its_clocks_show_twice() -> None:
    """PEP 495: the instant is the same all the same; keep such moments in UTC to compare them."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    event = Moment(aggregate_id="1", at=dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=berlin))

    back = MOMENTS.deserialize(MOMENTS.serialize(event), event_type="test.moment", event_version=1)

    assert isinstance(back, Moment)
    assert back != event
    assert back.at.astimezone(dt.UTC) == event.at.astimezone(dt.UTC)
