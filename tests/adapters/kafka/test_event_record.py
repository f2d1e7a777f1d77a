"""Events as records of Kafka, and back."""

from typing import Any, NoReturn

import attrs
import pytest

from pragmatic_ddd.application.events import Addressee
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_kafka.errors import RefusedMessageError
from pragmatic_ddd_kafka.event_record import event_type_of, outgoing, received
from pragmatic_ddd_kafka.record import OutgoingRecord, ReceivedRecord
from tests.adapters.kafka.shop import a_stored_event


def as_received(sent: OutgoingRecord) -> ReceivedRecord:
    return ReceivedRecord(
        topic=sent.topic,
        partition=2,
        offset=7,
        key=sent.key,
        value=sent.value,
        headers=sent.headers,
    )


def with_header(name: str, value: bytes | None) -> ReceivedRecord:
    record = as_received(outgoing(a_stored_event(), "events"))
    headers = [header for header in record.headers if header[0] != name]
    return attrs.evolve(record, headers=[*headers, (name, value)])


def test_an_event_is_a_cloud_event_in_binary_mode() -> None:
    message = a_stored_event(
        message_id="e-1", headers={"correlation-id": "c-1", "tenant": "Zürich"}
    )

    record = outgoing(message, "events", source="/shop")

    assert (record.topic, record.key, record.value) == ("events", b"order-1", message.payload)
    assert dict(record.headers) == {
        "ce_specversion": b"1.0",
        "ce_id": b"e-1",
        "ce_source": b"/shop",
        "ce_type": b"shop.order.paid",
        "ce_subject": b"order-1",
        "content-type": b"application/json",
        "ce_aggregatetype": b"shop.order",
        "ce_aggregateversion": b"3",
        "ce_eventindex": b"1",
        "ce_eventversion": b"1",
        "ce_correlationid": b"c-1",
        "ce_headers": '{"tenant": "Zürich"}'.encode(),
    }


def test_an_event_comes_back_as_it_was_sent() -> None:
    message = a_stored_event(
        aggregate_id="Größe 订单 \N{GRINNING FACE}", headers={"a b": "ü", "": "x"}
    )
    addressee = Addressee(subscriber="stock", only_this=True, consumer_group="shop")

    event = received(as_received(outgoing(message, "events", addressee)))

    assert event.message == message
    assert event.addressee == addressee
    assert event.topic == "events"


@pytest.mark.parametrize(
    "changes",
    [{"aggregate_id": "\ud800"}, {"message_id": "a\udfff"}, {"headers": {"tenant": "\ud800"}}],
)
def test_half_a_surrogate_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RefusedMessageError, match="half a surrogate"):
        outgoing(a_stored_event(**changes), "events")


def test_what_has_no_type_is_no_event() -> None:
    record = ReceivedRecord(topic="events", partition=0, offset=0, headers=[("ce_id", b"1")])

    assert event_type_of(record) == ""
    assert event_type_of(with_header("ce_type", None)) == ""


def test_the_type_is_read_without_reading_the_rest() -> None:
    assert event_type_of(with_header("ce_aggregateversion", b"\xff")) == "shop.order.paid"
    assert event_type_of(with_header("ce_type", b"\xffx")) == "\N{REPLACEMENT CHARACTER}x"


class NotUtf8:
    """What the client hands over where a stranger's header has a name that is no UTF-8."""

    def topic(self) -> str:
        return "events"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 7

    def key(self) -> None: ...

    def value(self) -> bytes:
        return b"{}"

    def timestamp(self) -> tuple[int, int]:
        return 0, -1

    def leader_epoch(self) -> None: ...

    def headers(self) -> NoReturn:
        raise SystemError("returned a result with an exception set")


def test_a_record_whose_headers_cannot_be_read_is_not_passed_over() -> None:
    """It may be an event: so it becomes a dead letter."""
    message: Any = NotUtf8()

    record = ReceivedRecord.of(message)

    assert (record.where, record.value, record.headers) == ("events/2@7", b"{}", ())
    with pytest.raises(EventDeserializationError, match="headers cannot be read"):
        event_type_of(record)


def test_the_last_of_two_headers_counts() -> None:
    record = with_header("ce_subject", b"order-1")
    twice = attrs.evolve(record, headers=[*record.headers, ("ce_subject", b"order-2")])

    assert received(twice).message.aggregate_id == "order-2"


@pytest.mark.parametrize(
    ("header", "value", "reason"),
    [
        ("ce_id", None, "missing"),
        ("ce_subject", b"", "missing"),
        ("ce_aggregateversion", b"three", "whole number"),
        ("ce_eventversion", b"0", "whole number"),
        ("ce_headers", b"[]", "no JSON object"),
        ("ce_subject", b"\xff\xfe", "no UTF-8"),
        ("ce_specversion", b"0.3", "1.0 is understood"),
        ("content-type", b"application/avro", "application/json is understood"),
    ],
)
def test_a_header_that_does_not_say_what_it_should_is_named(
    header: str, value: bytes | None, reason: str
) -> None:
    with pytest.raises(EventDeserializationError, match=reason) as caught:
        received(with_header(header, value))
    assert "events/2@7" in str(caught.value)


def test_a_tombstone_is_no_event() -> None:
    record = attrs.evolve(as_received(outgoing(a_stored_event(), "events")), value=None)

    with pytest.raises(EventDeserializationError, match="payload"):
        received(record)


def test_a_record_without_a_content_type_is_taken_for_json() -> None:
    assert received(with_header("content-type", None)).message.message_id
