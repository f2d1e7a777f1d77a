"""What only this serializer promises; the rest is in its contract."""

import datetime as dt
import decimal
import enum
import json
import threading
import uuid
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, EventSerializationError
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer, TextFormat, ValueCodecs
from tests.adapters.orjson import postponed

T = TypeVar("T")
CustomerId = NewType("CustomerId", int)


class Right(enum.Flag):
    READ = 1
    WRITE = 2


@attrs.frozen
class Box(Generic[T]):
    item: T
    spare: list[T] = attrs.field(factory=list)


@attrs.frozen
class IntBox(Box[int]):
    pass


@attrs.frozen
class Percentage:
    value: int = attrs.field(validator=attrs.validators.le(100))


@attrs.frozen
class Hidden:
    _secret: str


@attrs.frozen
class Chain:
    next: "Chain | None" = None


class Kinds(DomainEvent, name="test.kinds"):
    customer: CustomerId | None = None
    note: Annotated[str, {"unhashable": "metadata"}] = ""
    mode: Literal["fast", 1] | None = None
    rights: Right = Right.READ
    box: Box[str] | None = None
    int_box: IntBox | None = None
    boxes: Box[Box[int]] | None = None
    percentage: Percentage | None = None
    hidden: Hidden | None = None
    chain: Chain | None = None
    anything: Any = None
    bare: list = attrs.field(factory=list)  # type: ignore[type-arg]  # what is tested
    moment: dt.datetime | None = None
    key: uuid.UUID | None = None


@pytest.fixture(scope="module")
def serializer() -> OrjsonEventSerializer:
    registry = EventTypeRegistry(Kinds)
    return OrjsonEventSerializer(registry)


def back(serializer: OrjsonEventSerializer, payload: bytes) -> Kinds:
    event = serializer.deserialize(payload, event_type="test.kinds", event_version=1)
    assert isinstance(event, Kinds)
    return event


@pytest.mark.parametrize(
    ("field", "value", "raw"),
    [
        ("customer", CustomerId(5), 5),
        ("note", "x", "x"),
        ("mode", "fast", "fast"),
        ("mode", 1, 1),
        ("rights", Right.READ | Right.WRITE, 3),
        ("rights", Right(0), 0),
        ("box", Box("a", ["b"]), {"item": "a", "spare": ["b"]}),
        ("int_box", IntBox(1, [2]), {"item": 1, "spare": [2]}),
        ("boxes", Box(Box(1)), {"item": {"item": 1, "spare": []}, "spare": []}),
        ("hidden", Hidden("s"), {"_secret": "s"}),
        ("chain", Chain(Chain()), {"next": {"next": None}}),
        ("anything", {"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ("bare", [1, "x"], [1, "x"]),
    ],
)
def test_further_types_come_back(
    serializer: OrjsonEventSerializer, field: str, value: object, raw: object
) -> None:
    arguments: dict[str, Any] = {field: value}
    event = Kinds(aggregate_id="1", **arguments)

    payload = serializer.serialize(event)

    assert json.loads(payload)[field] == raw
    found = getattr(back(serializer, payload), field)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("customer", "5", "customer"),
        ("mode", True, "mode"),
        ("mode", "slow", "mode"),
        ("box", Box(1), "box.item"),
        ("box", Box("a", ["b", 2]), "box.spare[1]"),
        ("int_box", Box(1), "int_box"),
        ("anything", {"a": [1, (2,)]}, "anything['a'][1]"),
        ("anything", {1: "a"}, "anything[1]"),
        ("anything", 2**64, "anything"),
        ("anything", uuid.UUID(int=1), "anything"),
        ("anything", [float("nan")], "anything[0]"),
        ("bare", [{1}], "bare[0]"),
    ],
)
def test_what_would_not_come_back_is_refused(
    serializer: OrjsonEventSerializer, field: str, value: object, path: str
) -> None:
    arguments: dict[str, Any] = {field: value}
    with pytest.raises(EventSerializationError) as refusal:
        serializer.serialize(Kinds(aggregate_id="1", **arguments))

    assert refusal.value.field == path


def test_a_class_that_refuses_its_values_is_named(serializer: OrjsonEventSerializer) -> None:
    payload = serializer.serialize(Kinds(aggregate_id="1", percentage=Percentage(5)))

    with pytest.raises(EventDeserializationError) as refusal:
        back(serializer, payload.replace(b'{"value":5}', b'{"value":500}'))

    assert refusal.value.field == "percentage"
    assert "500" in refusal.value.reason


def test_an_event_that_refuses_its_values_is_refused(serializer: OrjsonEventSerializer) -> None:
    payload = serializer.serialize(Kinds(aggregate_id="1"))

    with pytest.raises(EventDeserializationError, match="aggregate_id"):
        back(serializer, payload.replace(b'"aggregate_id":"1"', b'"aggregate_id":""'))


def test_a_library_s_own_datetime_is_written_if_nothing_is_lost(
    serializer: OrjsonEventSerializer,
) -> None:
    class Frozen(dt.datetime):
        pass

    class Nanoseconds(dt.datetime):
        def isoformat(self, *_: object) -> str:  # as pandas does
            return "2026-01-02T03:04:05.000006007+00:00"

        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = dt.datetime.__hash__

    moment = Frozen(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    event = back(serializer, serializer.serialize(Kinds(aggregate_id="1", moment=moment)))
    assert event.moment == moment
    assert type(event.moment) is dt.datetime

    lossy = Nanoseconds(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    with pytest.raises(EventSerializationError) as refusal:
        serializer.serialize(Kinds(aggregate_id="1", moment=lossy))
    assert refusal.value.field == "moment"


def test_a_driver_s_own_uuid_is_written(serializer: OrjsonEventSerializer) -> None:
    class DriverUuid(uuid.UUID):
        pass

    key = DriverUuid(int=7)

    event = back(serializer, serializer.serialize(Kinds(aggregate_id="1", key=key)))

    assert event.key == key


def test_what_is_nested_too_deeply_is_refused(serializer: OrjsonEventSerializer) -> None:
    for depth in (300, 5000):
        chain = None
        for _ in range(depth):
            chain = Chain(chain)

        with pytest.raises(EventSerializationError) as refusal:
            serializer.serialize(Kinds(aggregate_id="1", chain=chain))
        assert refusal.value.field == "chain"

    payload = serializer.serialize(Kinds(aggregate_id="1"))
    deep = b'"chain":' + b'{"next":' * 5000 + b"null" + b"}" * 5000
    with pytest.raises(EventDeserializationError):
        back(serializer, payload.replace(b'"chain":null', deep))


def test_a_number_of_many_digits_is_refused_or_comes_back(
    serializer: OrjsonEventSerializer,
) -> None:
    event = Kinds(aggregate_id="1", customer=CustomerId(10**4000))
    assert back(serializer, serializer.serialize(event)) == event

    with pytest.raises(EventSerializationError) as refusal:
        serializer.serialize(Kinds(aggregate_id="1", customer=CustomerId(10**10_000)))
    assert refusal.value.field == "customer"


def test_threads_may_meet_a_class_at_the_same_time() -> None:
    for _ in range(20):
        serializer = OrjsonEventSerializer(EventTypeRegistry())
        event = Kinds(aggregate_id="1", chain=Chain(Chain()), boxes=Box(Box(1)))
        expected = serializer.serialize(event)
        shared = OrjsonEventSerializer(EventTypeRegistry())
        barrier = threading.Barrier(4)
        payloads: list[bytes] = []

        def write() -> None:
            barrier.wait(30)  # noqa: B023  # the thread ends before the next round
            payloads.append(shared.serialize(event))  # noqa: B023  # as above

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert payloads == [expected] * 4


def test_who_is_interrupted_while_a_class_is_met_first_leaves_nothing_half_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_: ValueCodecs, __: object) -> None:
        raise KeyboardInterrupt

    event = Kinds(aggregate_id="1", chain=Chain(Chain()))
    expected = OrjsonEventSerializer(EventTypeRegistry()).serialize(event)
    serializer = OrjsonEventSerializer(EventTypeRegistry())
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(ValueCodecs, "_make", interrupt)
        with pytest.raises(KeyboardInterrupt):
            serializer.serialize(event)

    assert serializer.serialize(event) == expected


def test_an_event_of_a_module_with_postponed_annotations_comes_back() -> None:
    serializer = OrjsonEventSerializer(EventTypeRegistry(postponed.OrderPlaced))
    line = postponed.Line("book", postponed.Money(Decimal("1.10")))
    event = postponed.OrderPlaced(
        aggregate_id="1",
        lines=[line],
        by_number={2**70: line},
        pair=(1, "x"),
        keys=frozenset([uuid.UUID(int=1), uuid.UUID(int=2)]),
        due=dt.date(2026, 1, 2),
        paid_by=postponed.Transfer("DE02"),
        within=dt.timedelta(days=2, microseconds=1),
        scan=b"\0\xff",
        at=dt.time(23, 59, 59, 999_999),
        previous=postponed.OrderLink("0", postponed.OrderLink("-1")),
    )

    read = serializer.deserialize(
        serializer.serialize(event), event_type="test.postponed", event_version=1
    )

    assert read == event
    assert repr(read) == repr(event)


class Loose:
    """Equal to nothing but itself, though its text is that of others."""

    def __init__(self, text: str) -> None:
        self.text = text


class Loosely(DomainEvent, name="test.loosely"):
    by_key: dict[Loose, int] = attrs.field(factory=dict)
    members: frozenset[Loose] = frozenset()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("by_key", {Loose("a"): 1, Loose("b"): 2, Loose("a"): 3}),
        ("members", frozenset([Loose("a"), Loose("b"), Loose("a")])),
    ],
)
def test_what_would_become_one_is_refused(field: str, value: object) -> None:
    codecs = ValueCodecs(text_formats={Loose: TextFormat(lambda loose: loose.text, Loose)})
    serializer = OrjsonEventSerializer(EventTypeRegistry(Loosely, codecs=codecs))
    arguments: dict[str, Any] = {field: value}

    with pytest.raises(EventSerializationError, match="one would be lost") as refusal:
        serializer.serialize(Loosely(aggregate_id="1", **arguments))

    assert refusal.value.field == field


class Priced(DomainEvent, name="test.priced"):
    price: Decimal


def test_a_decimal_keeps_its_digits_whatever_the_context_says() -> None:
    serializer = OrjsonEventSerializer(EventTypeRegistry(Priced))
    price = Decimal("-1234567890.12345678901234567890E-7")
    event = Priced(aggregate_id="1", price=price)

    with decimal.localcontext(decimal.Context(prec=3, capitals=0, Emax=5, Emin=-5)):
        payload = serializer.serialize(event)
        read = serializer.deserialize(payload, event_type="test.priced", event_version=1)

    assert isinstance(read, Priced)
    assert (read.price.as_tuple(), str(read.price)) == (price.as_tuple(), str(price))
