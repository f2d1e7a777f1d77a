from collections.abc import Mapping

import pytest

from pragmatic_ddd.application.outbox import EventEncoding, OutboxRecorder
from pragmatic_ddd.application.outbox.encoding import LONGEST_HEADER
from pragmatic_ddd.domain import AggregateRoot, DomainEvent
from pragmatic_ddd.errors import EventSerializationError, ForeignEventError
from pragmatic_ddd.ports import OutboxMessage


class OrderPaid(DomainEvent, name="shop.order.paid", version=3):
    pass


class Order(AggregateRoot, name="shop.order"):
    id: str


class OneSerializer:
    """Writes every event as the same bytes, and reads every payload as one event."""

    def __init__(self, payload: bytes = b"{}") -> None:
        self.payload = payload
        self.asked: list[tuple[bytes, str, int]] = []

    def serialize(self, event: DomainEvent) -> bytes:
        return self.payload

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        self.asked.append((payload, event_type, event_version))
        return OrderPaid(aggregate_id="o1")


def encoding(payload: bytes = b"{}", headers: Mapping[str, str] | None = None) -> EventEncoding:
    return EventEncoding(serializer=OneSerializer(payload), headers=lambda: headers or {})


def test_a_message_says_whose_event_it_is_and_where_it_belongs() -> None:
    event = OrderPaid(aggregate_id="o1").placed_at(7, 2)

    message = encoding().encode(event, aggregate_type="shop.order")

    assert message == OutboxMessage(
        message_id=event.event_id,
        aggregate_type="shop.order",
        aggregate_id="o1",
        aggregate_version=7,
        event_index=2,
        event_type="shop.order.paid",
        event_version=3,
        payload=b"{}",
        headers={},
    )


def test_an_event_without_a_place_has_no_version() -> None:
    message = encoding().encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")

    assert message.aggregate_version is None


def test_the_events_of_one_change_are_numbered() -> None:
    events = [OrderPaid(aggregate_id="o1") for _ in range(3)]

    messages = encoding().encode_all(Order(id="o1"), events, version=4)

    assert [(one.aggregate_version, one.event_index) for one in messages] == [
        (4, 0),
        (4, 1),
        (4, 2),
    ]


def test_headers_are_those_of_the_moment_and_the_operation() -> None:
    event = OrderPaid(aggregate_id="o1").caused_by("order.pay")

    message = encoding(headers={"tenant": "acme"}).encode(event, aggregate_type="shop.order")

    assert message.headers == {"tenant": "acme", "operation-code": "order.pay"}


@pytest.mark.parametrize("value", ["two\nlines", "x" * (LONGEST_HEADER + 1), 7])
def test_a_header_that_is_no_short_plain_text_is_refused(value: object) -> None:
    headers: dict[str, object] = {"tenant": value}

    with pytest.raises(EventSerializationError, match=r"headers\['tenant'\]"):
        EventEncoding(
            serializer=OneSerializer(),
            headers=lambda: headers,  # type: ignore[arg-type,return-value]
        ).encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-11-30",
        "2026-11-30T12:00:00",
        "",
        "2026-W48-1T00:00Z",
        "20261130T120000Z",
        "2026-11-30X12:00:00Z",
        "2026-11-30T12:00:00+01",
        "2026-11-30T12:00:00+01:00:30",
        "2026-11-30T12:00:00,5Z",
    ],
)
def test_an_occurrence_at_no_time_is_refused(text: str) -> None:
    with pytest.raises(EventSerializationError, match=r"headers\['occurred-at'\].*RFC 3339"):
        encoding(headers={"occurred-at": text}).encode(
            OrderPaid(aggregate_id="o1"), aggregate_type="shop.order"
        )


@pytest.mark.parametrize("text", ["2026-11-30t12:00:00z", "2016-12-31T23:59:60Z"])
def test_an_occurrence_that_says_when_is_kept(text: str) -> None:
    headers = {"occurred-at": text}

    message = encoding(headers=headers).encode(
        OrderPaid(aggregate_id="o1"), aggregate_type="shop.order"
    )

    assert message.headers == headers


def test_a_payload_that_no_broker_takes_is_refused_when_it_is_stored() -> None:
    encoding = EventEncoding(serializer=OneSerializer(b"12345"), largest_payload_bytes=4)

    with pytest.raises(EventSerializationError, match="5 bytes of JSON, at most 4 are sent"):
        encoding.encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")


def test_an_aggregate_type_without_a_stable_name_is_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        encoding().encode(OrderPaid(aggregate_id="o1"), aggregate_type="")


def test_a_message_is_read_by_its_name_and_version() -> None:
    serializer = OneSerializer()
    message = encoding().encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")

    event = EventEncoding(serializer=serializer).decode(message)

    assert isinstance(event, OrderPaid)
    assert serializer.asked == [(b"{}", "shop.order.paid", 3)]


def test_the_recorder_writes_an_event_where_there_is_no_aggregate() -> None:
    written: list[OutboxMessage] = []
    recorder = OutboxRecorder(encoding=encoding(), write=written.append)

    recorder.record("shop.order", "o1", OrderPaid(aggregate_id="o1"))

    (message,) = written
    assert message.aggregate == ("shop.order", "o1")
    assert message.aggregate_version is None


def test_the_recorder_refuses_an_event_of_somebody_else() -> None:
    written: list[OutboxMessage] = []
    recorder = OutboxRecorder(encoding=encoding(), write=written.append)

    with pytest.raises(ForeignEventError):
        recorder.record("shop.order", "o2", OrderPaid(aggregate_id="o1"))

    assert written == []
