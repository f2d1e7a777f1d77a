"""An event of another system's: read by its name, filled from the message that brings it."""

import datetime as dt
from decimal import Decimal

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.broadcast import IntegrationEvent, envelope_of, message_of
from pragmatic_ddd.application.event_origin import origin_of
from pragmatic_ddd.application.events import attributes_of, received_event
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.errors import EventDeserializationError, UnknownEventTypeError
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.testing.broadcast_messenger import an_envelope
from pragmatic_ddd_local import InMemoryEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


class TheirOrderPaid(IntegrationEvent, name="shop.order-paid", version=2):
    total: Decimal


class AnyOrderPaid(IntegrationEvent, name="shop.order-paid", version=2):
    """Has no fields: its handler reads the payload."""


def serializer(event_type: type[DomainEvent]) -> OrjsonEventSerializer:
    """Read the class, and in place of its version 1 what had the total in cents."""
    registry = EventTypeRegistry(event_type)
    registry.register_upcaster(event_type, 1, lambda payload: {"total": f"{payload['cents']}e-2"})
    return OrjsonEventSerializer(registry)


encoding = EventEncoding(serializer=serializer(TheirOrderPaid))


def decoded(message: OutboxMessage) -> TheirOrderPaid:
    event = encoding.decode(message)
    assert isinstance(event, TheirOrderPaid)
    return event


def a_message(body: str = '{"total":"12.50"}', **attributes: str) -> OutboxMessage:
    """Return what somebody has sent who knows no more than CloudEvents."""
    needed = {
        "specversion": "1.0",
        "id": "m-1",
        "source": "/shop",
        "type": "shop.order-paid",
        "subject": "order-1",
        "eventversion": "2",
    }
    return received_event({**needed, **attributes}, body.encode(), where="here").message


def test_its_body_holds_the_facts_and_the_message_the_rest() -> None:
    envelope = an_envelope(version=7)

    event = decoded(message_of(envelope))

    assert event.total == Decimal("12.50")
    assert event.event_id == envelope.message_id
    assert event.aggregate_id == "order-1"
    assert (event.aggregate_version, event.event_index) == (7, 1)
    assert event.operation_code == "pay"
    assert event.occurred_at == envelope.occurred_at
    assert origin_of(event) == message_of(envelope)


def test_the_message_counts_more_than_the_body() -> None:
    body = '{"total":"1","aggregate_id":"order-2","event_id":"m-2","aggregate_version":9}'

    event = decoded(a_message(body, aggregateversion="3"))

    assert (event.aggregate_id, event.event_id, event.aggregate_version) == ("order-1", "m-1", 3)


def test_an_event_that_another_service_has_raised_is_read_in_the_same_way() -> None:
    class OrderPaid(DomainEvent, name="shop.order-paid", version=2):
        total: Decimal

    raised = OrderPaid(aggregate_id="order-1", total=Decimal("12.50")).placed_at(3, 1)
    sent = EventEncoding(serializer=serializer(OrderPaid)).encode(
        raised, aggregate_type="shop.order"
    )

    read = decoded(received_event(attributes_of(sent), sent.payload, where="here").message)

    names = list(raised.__dict__)
    assert [getattr(read, name) for name in names] == [getattr(raised, name) for name in names]


def test_when_it_happened_the_body_may_say() -> None:
    event = decoded(a_message('{"total":"1","occurred_at":"2026-01-02T03:04:05Z"}'))

    assert event.occurred_at == dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize("time", ["2026-01-02t03:04:05z", "2026-01-02T04:04:05.000+01:00"])
def test_a_time_of_rfc_3339_is_understood(time: str) -> None:
    event = decoded(a_message(time=time))

    assert event.occurred_at == dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def test_a_leap_second_is_understood_as_the_second_after_it() -> None:
    event = decoded(a_message(time="2016-12-31T23:59:60Z"))

    assert event.occurred_at == dt.datetime(2017, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "time",
    [
        "yesterday",
        "2026-01-02T03:04:05",
        "2026-13-02T03:04:05Z",
        "20260102T030405Z",
        "2026-01-02T03:04:05+01",
    ],
)
def test_another_time_makes_it_unreadable(time: str) -> None:
    with pytest.raises(EventDeserializationError, match="RFC 3339") as caught:
        decoded(a_message(time=time))
    assert caught.value.field == "headers['occurred-at']"
    assert time in caught.value.reason


@pytest.mark.parametrize(("name", "field"), [("subject", "aggregate_id"), ("id", "event_id")])
@pytest.mark.parametrize("value", [" x", "x" * 201, "a\nb"])
def test_an_id_that_no_event_may_have_makes_it_unreadable(
    name: str, field: str, value: str
) -> None:
    with pytest.raises(EventDeserializationError, match=field):
        decoded(a_message(**{name: value}))


def test_an_older_version_is_brought_up() -> None:
    event = decoded(a_message('{"cents":1250}', eventversion="1"))

    assert event.total == Decimal("12.50")
    assert event.aggregate_id == "order-1"


def test_a_newer_version_is_not_known_here_yet() -> None:
    with pytest.raises(UnknownEventTypeError):
        decoded(a_message(eventversion="3"))


def test_a_class_without_fields_takes_any_object_and_its_envelope_has_the_bytes() -> None:
    manager = InMemoryEventManager(serializer(AnyOrderPaid))
    seen: list[object] = []
    manager.register_subscriber("any", AnyOrderPaid, lambda event: seen.append(envelope_of(event)))
    envelope = an_envelope()

    with manager:
        manager.publish_stored(message_of(envelope))

    assert seen == [envelope]


def test_one_that_a_test_makes_has_what_it_is_given() -> None:
    event = TheirOrderPaid(total=Decimal(1))

    assert event.aggregate_id == ""
    assert attrs.evolve(event, aggregate_id="order-1").aggregate_id == "order-1"  # type: ignore[misc]  # FrozenModel made it an attrs class
    with pytest.raises(ValueError, match=r"TheirOrderPaid\.aggregate_id is ' '"):
        TheirOrderPaid(aggregate_id=" ", total=Decimal(1))
