import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest

from pragmatic_ddd import AggregateRoot, DomainEvent
from pragmatic_ddd.errors import (
    EventDeserializationError,
    EventSerializationError,
    EventTypeError,
    UnknownEventTypeError,
)
from pragmatic_ddd_orjson import (
    EventTypeRegistry,
    OrjsonEventSerializer,
    TextFormat,
    Upcaster,
    ValueCodecs,
)


class OrderEvent(DomainEvent):
    pass


class OrderPaid(OrderEvent, name="shop.order.paid", version=3, aliases=("shop.order.payed",)):
    amount: int
    currency: str


class OrderShipped(OrderEvent, name="shop.order.shipped"):
    pass


class OrderPayed(OrderEvent, name="shop.order.payed"):
    pass


def to_2(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "amount": raw["total"]}


def to_3(raw: dict[str, Any]) -> dict[str, Any]:
    return raw | {"currency": "EUR"}


def a_registry(*event_types: type[DomainEvent]) -> EventTypeRegistry:
    return EventTypeRegistry(*event_types)


def test_a_class_is_found_by_its_name_and_its_former_names() -> None:
    registry = a_registry(OrderPaid, OrderShipped)

    assert registry.find("shop.order.paid", 3) is OrderPaid
    assert registry.find("shop.order.payed", 1) is OrderPaid
    assert registry.find("shop.order.shipped", 1) is OrderShipped


@pytest.mark.parametrize(
    ("name", "version"),
    [("shop.order.paid", 4), ("OrderPaid", 1), ("", 1), ("builtins.eval", 1), ("os.system", 1)],
)
def test_what_is_not_registered_is_not_known(name: str, version: int) -> None:
    with pytest.raises(UnknownEventTypeError) as unknown:
        a_registry(OrderPaid).find(name, version)

    assert (unknown.value.event_type, unknown.value.event_version) == (name, version)


@pytest.mark.parametrize(
    ("first", "second"),
    [(OrderPaid, OrderPaid), (OrderPaid, OrderPayed), (OrderPayed, OrderPaid)],
)
def test_a_name_stands_for_one_class(first: type[DomainEvent], second: type[DomainEvent]) -> None:
    with pytest.raises(EventTypeError):
        a_registry(first, second)

    registry = a_registry(first)
    with pytest.raises(EventTypeError):
        registry.register(OrderShipped, second)
    with pytest.raises(UnknownEventTypeError):
        registry.find("shop.order.shipped", 1)


@pytest.mark.parametrize("event_type", [OrderEvent, DomainEvent, str, "shop.order.paid", None])
def test_what_is_never_raised_is_not_registered(event_type: type[DomainEvent]) -> None:
    with pytest.raises(EventTypeError):
        EventTypeRegistry().register(event_type)


class Base:
    pass


class Odd(enum.Enum):
    A = (1, 2)


@attrs.frozen
class Computed:
    total: int = attrs.field(init=False, default=1)


@dataclasses.dataclass
class Initialised:
    total: int
    rate: dataclasses.InitVar[int]


@attrs.define(init=False)
class OwnConstructor:
    total: int

    def __init__(self, text: str) -> None:
        self.total = int(text)


@dataclasses.dataclass(init=False)
class AnotherOwnConstructor:
    total: int

    def __init__(self, text: str) -> None:
        self.total = int(text)


class Order(AggregateRoot, name="shop.order"):
    pass


@attrs.frozen
class Deep:
    parts: list[tuple[int, Base]]


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        (Base, "value"),
        (complex, "value"),
        (type, "value"),
        (Order, "value"),
        (Sequence[int], "value"),
        (Mapping[str, int], "value"),
        (list[Base], "value"),
        (dict[tuple[int, int], str], "value"),
        (dict[float, str], "value"),
        (dict[str, Base], "value"),
        (list[int] | list[str], "value"),
        (Odd, "value"),
        (Computed, "value"),
        (Initialised, "value"),
        (OwnConstructor, "value"),
        (AnotherOwnConstructor, "value"),
        (Deep, "value.parts"),
    ],
)
def test_a_field_that_would_not_come_back_is_refused_early(annotation: type, path: str) -> None:
    class Wrong(DomainEvent, name="test.wrong"):
        value: annotation  # type: ignore[valid-type]  # made for each case

    with pytest.raises(EventTypeError, match=f"Wrong.*field {path}"):
        EventTypeRegistry().register(Wrong)

    event = Wrong(aggregate_id="1", value=None)
    with pytest.raises(EventSerializationError) as refusal:
        OrjsonEventSerializer(EventTypeRegistry()).serialize(event)
    assert refusal.value.field.startswith(path)


def test_an_annotation_that_names_nothing_is_refused() -> None:
    class Wrong(DomainEvent, name="test.wrong"):
        value: "NoSuchClass"  # type: ignore[name-defined]  # noqa: F821  # the mistake

    with pytest.raises(EventTypeError, match="NoSuchClass"):
        EventTypeRegistry().register(Wrong)


def test_a_refused_class_leaves_nothing_behind() -> None:
    class Wrong(DomainEvent, name="test.wrong"):
        value: Base

    registry = EventTypeRegistry()
    for _ in range(2):
        with pytest.raises(EventTypeError):
            registry.register(OrderShipped, Wrong)
    registry.register(OrderShipped)


def test_an_old_payload_takes_every_step() -> None:
    registry = a_registry(OrderPaid)
    registry.register_upcaster(OrderPaid, 2, to_3)
    registry.register_upcaster(OrderPaid, 1, to_2)
    serializer = OrjsonEventSerializer(registry)
    payload = b'{"aggregate_id":"1","event_id":"e","occurred_at":"2026-01-02T00:00:00Z","total":5}'

    event = serializer.deserialize(payload, event_type="shop.order.payed", event_version=1)

    assert event == OrderPaid(
        aggregate_id="1",
        event_id="e",
        occurred_at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        amount=5,
        currency="EUR",
    )


def test_missing_steps_are_found_when_the_application_is_wired() -> None:
    registry = a_registry(OrderPaid)
    registry.register_upcaster(OrderPaid, 2, to_3)

    with pytest.raises(EventTypeError, match="OrderPaid from version 1"):
        OrjsonEventSerializer(registry)


def test_a_step_that_is_missing_later_makes_the_payload_unreadable() -> None:
    registry = EventTypeRegistry()
    serializer = OrjsonEventSerializer(registry)
    registry.register(OrderPaid)

    with pytest.raises(EventDeserializationError, match="version 1"):
        serializer.deserialize(b"{}", event_type="shop.order.paid", event_version=1)


@pytest.mark.parametrize(
    ("event_type", "version"), [(OrderPaid, 0), (OrderPaid, 3), (OrderShipped, 1)]
)
def test_a_step_starts_from_an_older_version(event_type: type[DomainEvent], version: int) -> None:
    with pytest.raises(EventTypeError):
        a_registry(OrderPaid, OrderShipped).register_upcaster(event_type, version, to_2)


def test_a_step_belongs_to_a_registered_class_and_exists_once() -> None:
    registry = a_registry(OrderPaid)
    registry.register_upcaster(OrderPaid, 1, to_2)

    with pytest.raises(EventTypeError, match="already"):
        registry.register_upcaster(OrderPaid, 1, to_2)
    with pytest.raises(EventTypeError, match="first"):
        registry.register_upcaster(OrderShipped, 1, to_2)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda raw: raw["no such field"], "KeyError"),
        (lambda _: None, "NoneType"),
        (lambda raw: [raw], "list"),
    ],
)
def test_a_step_that_fails_makes_the_payload_unreadable(step: Upcaster, reason: str) -> None:
    registry = a_registry(OrderPaid)
    registry.register_upcaster(OrderPaid, 1, step)
    registry.register_upcaster(OrderPaid, 2, to_3)
    serializer = OrjsonEventSerializer(registry)

    with pytest.raises(EventDeserializationError, match=reason):
        serializer.deserialize(b'{"total": 1}', event_type="shop.order.paid", event_version=1)


class Ulid:
    def __init__(self, text: str) -> None:
        if len(text) != 26:
            raise ValueError(f"{text!r} has not 26 characters")
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ulid) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class ShipmentBooked(DomainEvent, name="shop.shipment.booked"):
    shipment: Ulid
    by_shipment: dict[Ulid, int]


def test_a_class_of_your_own_has_a_text() -> None:
    codecs = ValueCodecs(text_formats={Ulid: TextFormat(lambda ulid: ulid.text, Ulid)})
    registry = EventTypeRegistry(codecs=codecs)
    registry.register(ShipmentBooked)
    serializer = OrjsonEventSerializer(registry)
    ulid = Ulid("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    event = ShipmentBooked(aggregate_id="1", shipment=ulid, by_shipment={ulid: 1})

    payload = serializer.serialize(event)

    assert b'"shipment":"01ARZ3NDEKTSV4RRFFQ69G5FAV"' in payload
    back = serializer.deserialize(payload, event_type="shop.shipment.booked", event_version=1)
    assert back == event
    with pytest.raises(EventDeserializationError) as refusal:
        serializer.deserialize(
            payload.replace(b'"shipment":"01', b'"shipment":"'),
            event_type="shop.shipment.booked",
            event_version=1,
        )
    assert refusal.value.field == "shipment"
