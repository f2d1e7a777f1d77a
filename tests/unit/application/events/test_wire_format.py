"""Events on the wire: what goes out comes back, and what makes no sense is refused."""

import contextlib
import json
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    attributes_of,
    received_event,
)
from pragmatic_ddd.application.events.wire_attributes import ATTRIBUTES, is_source
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports import OutboxMessage, message_headers
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

OFTEN = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
WHERE = "message 7 of topic shop"
NAMED_HEADERS = {
    message_headers.OPERATION_CODE: "operationcode",
    message_headers.CORRELATION_ID: "correlationid",
    message_headers.CAUSATION_ID: "causationid",
    message_headers.TRACEPARENT: "traceparent",
    message_headers.TRACESTATE: "tracestate",
    message_headers.PREVIOUS_PLACE: "previousplace",
    message_headers.AGGREGATE_EPOCH: "aggregateepoch",
    message_headers.OCCURRED_AT: "time",
    message_headers.DATA_SCHEMA: "dataschema",
}

some_text = st.text(min_size=1, max_size=40)
numbers = st.integers(0, 2**63 - 1)
header_names = st.sampled_from([*NAMED_HEADERS, *ATTRIBUTES]) | st.text(max_size=20)
messages = st.builds(
    OutboxMessage,
    message_id=some_text,
    aggregate_type=st.text(max_size=40),
    aggregate_id=some_text,
    aggregate_version=st.none() | numbers,
    event_index=numbers,
    event_type=some_text,
    event_version=st.integers(1, 2**63 - 1),
    payload=st.binary(min_size=1, max_size=60).filter(lambda payload: b"\0" not in payload),
    headers=st.dictionaries(header_names, st.text(max_size=20), max_size=6),
)
addressees = st.builds(
    Addressee,
    subscriber=st.none() | some_text,
    only_this=st.booleans(),
    consumer_group=st.none() | some_text,
)


def a_stored_event(**changes: Any) -> OutboxMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "message_id": "event-1",
        "aggregate_type": "shop.order",
        "aggregate_id": "order-1",
        "aggregate_version": 3,
        "event_index": 1,
        "event_type": "shop.order.paid",
        "event_version": 2,
        "payload": b'{"total":5}',
    }
    return OutboxMessage(**{**fields, **changes})


@OFTEN
@given(messages, addressees)
@example(a_stored_event(aggregate_version=0), EVERYBODY)
def test_what_goes_out_comes_back(message: OutboxMessage, addressee: Addressee) -> None:
    attributes = attributes_of(message, addressee)

    received = received_event(attributes, message.payload, where=WHERE, topic="shop")

    assert received.message == message
    assert received.addressee == addressee
    assert received.topic == "shop"


@OFTEN
@given(messages, addressees)
def test_every_attribute_is_text_that_every_broker_carries(
    message: OutboxMessage, addressee: Addressee
) -> None:
    attributes = attributes_of(message, addressee)

    assert set(attributes) <= set(ATTRIBUTES)
    assert {type(value) for value in attributes.values()} == {str}
    assert all(attributes.values())


@OFTEN
@given(st.dictionaries(st.sampled_from(ATTRIBUTES), st.text(max_size=20)), st.binary(max_size=20))
def test_hostile_attributes_raise_no_other_error(attributes: dict[str, str], body: bytes) -> None:
    whole = {**attributes_of(a_stored_event()), **attributes}

    with contextlib.suppress(EventDeserializationError):
        received_event(whole, body, where=WHERE)


def test_the_attributes_of_an_event() -> None:
    message = a_stored_event(
        payload=b'{"aggregate_id":"order-1","occurred_at":"2026-01-02T03:04:05.000006+01:00"}',
        headers={**dict.fromkeys(NAMED_HEADERS, "x"), "tenant": "Größe"},
    )  # a header counts more than the body

    assert attributes_of(message, source="https://shop.example") == {
        "specversion": "1.0",
        "id": "event-1",
        "source": "https://shop.example",
        "type": "shop.order.paid",
        "subject": "order-1",
        "datacontenttype": "application/json",
        "aggregatetype": "shop.order",
        "aggregateversion": "3",
        "eventindex": "1",
        "eventversion": "2",
        **dict.fromkeys(NAMED_HEADERS.values(), "x"),
        "headers": '{"tenant": "Größe"}',
    }


def test_what_is_not_known_is_left_out() -> None:
    message = a_stored_event(aggregate_type="", aggregate_version=None)

    assert set(attributes_of(message)) == {
        "specversion",
        "id",
        "source",
        "type",
        "subject",
        "datacontenttype",
        "eventindex",
        "eventversion",
    }


def test_a_named_header_without_a_value_travels_with_the_others() -> None:
    attributes = attributes_of(a_stored_event(headers={"traceparent": ""}))

    assert "traceparent" not in attributes
    assert json.loads(attributes["headers"]) == {"traceparent": ""}


def test_an_attribute_counts_more_than_a_header_of_its_name() -> None:
    attributes = {
        **attributes_of(a_stored_event(headers={"operation-code": "pay"})),
        "headers": '{"operation-code": "other"}',
    }

    received = received_event(attributes, b"{}", where=WHERE)

    assert received.message.headers == {"operation-code": "pay"}


class OrderPaid(DomainEvent, name="wire.order.paid"):
    nested: dict[str, str] = attrs.field(factory=dict)


@OFTEN
@given(st.builds(OrderPaid, aggregate_id=st.just("order-{1}") | st.just('"occurred_at": {')))
def test_an_id_that_looks_like_json_brings_no_wrong_time(event: OrderPaid) -> None:
    message = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry(OrderPaid))).encode(
        event, aggregate_type="wire.order"
    )

    assert attributes_of(message).get("time") in (None, event.occurred_at.isoformat())


def test_the_time_is_when_the_event_occurred() -> None:
    event = OrderPaid(aggregate_id="order-1", nested={"occurred_at": "1999-01-01T00:00:00Z"})
    message = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry(OrderPaid))).encode(
        event, aggregate_type="wire.order"
    )

    assert attributes_of(message)["time"] == event.occurred_at.isoformat()


@pytest.mark.parametrize(
    ("payload", "time"),
    [
        ('{"occurred_at":"2026-01-02T03:04:05Z"}', "2026-01-02T03:04:05Z"),
        ('{"a": 1,\n "occurred_at": "2026-01-02T03:04:05-09:30"}', "2026-01-02T03:04:05-09:30"),
        ('{"occurred_at":"2026-01-02t03:04:05.5z"}', "2026-01-02t03:04:05.5z"),
        ('{"occurred_at":"2016-12-31T23:59:60Z"}', "2016-12-31T23:59:60Z"),
        ('{"line":{"occurred_at":"2026-01-02T03:04:05Z"}}', None),
        ('[{"occurred_at":"2026-01-02T03:04:05Z"}]', None),
        ('{"line":[{"a":1}],"occurred_at":"2026-01-02T03:04:05Z"}', None),
        ('{"note":"\\"occurred_at\\":\\"2026-01-02T03:04:05Z\\""}', None),
        ('{"note":"occurred_at"}', None),
        ('{"occurred_at":"yesterday"}', None),
        ('{"occurred_at":"2026-01-02T03:04:05"}', None),
        ('{"occurred_at":"1890-01-02T03:04:05+00:53:28"}', None),
        ('{"occurred_at":"2026-13-02T03:04:05Z"}', None),
        ('{"occurred_at":"2026-01-02T03:04:05+01:99"}', None),
        ('{"occurred_at":1767323045}', None),
    ],
)
def test_the_time_is_taken_from_the_event_itself_or_left_out(
    payload: str, time: str | None
) -> None:
    assert attributes_of(a_stored_event(payload=payload.encode())).get("time") == time


_TIME = "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ('{"occurred_at":"2026-01-02T03:04:05Z"}', {}),
        ('{"occurred_at":"1999-01-01T00:00:00Z"}', {"occurred-at": _TIME}),
        ('{"order":"order-1"}', {"occurred-at": _TIME}),
    ],
)
def test_a_time_that_the_body_does_not_say_is_a_header(body: str, headers: dict[str, str]) -> None:
    attributes = {**attributes_of(a_stored_event()), "time": _TIME}

    message = received_event(attributes, body.encode(), where=WHERE).message

    assert message.headers == headers
    assert attributes_of(message)["time"] == _TIME


@pytest.mark.parametrize("name", ["specversion", "id", "type", "subject"])
@pytest.mark.parametrize("value", [None, ""])
def test_without_what_is_needed_it_is_no_event(name: str, value: str | None) -> None:
    attributes = attributes_of(a_stored_event())
    if value is None:
        del attributes[name]
    else:
        attributes[name] = value

    with pytest.raises(EventDeserializationError, match="missing") as caught:
        received_event(attributes, b"{}", where=WHERE)
    assert caught.value.field == f"attributes[{name!r}]"
    assert caught.value.event_type == attributes.get("type", "")
    assert WHERE in caught.value.reason


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("specversion", "2.0", "1.0 is understood"),
        ("specversion", "0.3", "1.0 is understood"),
        ("datacontenttype", "application/cloudevents+json; charset=UTF-8", "binary mode"),
        ("datacontenttype", "Application/CloudEvents-Batch+JSON", "binary mode"),
        ("datacontenttype", "application/avro", "application/json is understood"),
        ("aggregateversion", "-1", "from 0 to"),
        ("aggregateversion", "٣", "in digits"),
        ("aggregateversion", "9223372036854775808", "from 0 to"),
        ("aggregateversion", "9" * 5000, "in digits"),
        ("eventindex", "1.0", "in digits"),
        ("eventindex", "1_0", "in digits"),
        ("eventversion", "0", "from 1 to"),
        ("eventversion", " 1", "in digits"),
        ("onlythis", "yes", "true or false"),
        ("headers", "{", "no JSON"),
        ("headers", "[" * 200_000, "no JSON"),
        ("headers", "[]", "no JSON object"),
        ("headers", '{"a": 1}', "no text"),
        ("headers", '{"a": "\\ud800"}', "half a surrogate"),
        ("headers", '{"\\ud800": "a"}', "half a surrogate"),
    ],
)
def test_an_attribute_that_makes_no_sense_makes_the_message_unreadable(
    name: str, value: str, reason: str
) -> None:
    attributes = {**attributes_of(a_stored_event()), name: value}

    with pytest.raises(EventDeserializationError, match=reason) as caught:
        received_event(attributes, b"{}", where=WHERE)
    assert caught.value.field == f"attributes[{name!r}]"
    assert WHERE in caught.value.reason
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("body", [b"", b"a\0b"])
def test_a_body_that_is_none_makes_the_message_unreadable(body: bytes) -> None:
    with pytest.raises(EventDeserializationError, match="payload") as caught:
        received_event(attributes_of(a_stored_event()), body, where=WHERE)
    assert caught.value.field == ""
    assert WHERE in caught.value.reason


def test_what_another_sender_may_leave_out_has_a_meaning() -> None:
    attributes = {"specversion": "1.0", "id": "1", "type": "stock.counted", "subject": "bin-7"}

    received = received_event({**attributes, "source": "/stock", "zone": "b"}, b"{}", where=WHERE)

    assert received.addressee is EVERYBODY
    assert received.message == OutboxMessage(
        message_id="1",
        aggregate_type="",
        aggregate_id="bin-7",
        event_type="stock.counted",
        payload=b"{}",
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/a+json",
    ],
)
def test_json_has_several_names(content_type: str) -> None:
    attributes = {**attributes_of(a_stored_event()), "datacontenttype": content_type}

    assert received_event(attributes, b"{}", where=WHERE).message.payload == b"{}"


def test_what_is_for_everybody_says_so_in_either_way() -> None:
    attributes = {**attributes_of(a_stored_event()), "onlythis": "false", "subscriber": ""}

    assert received_event(attributes, b"{}", where=WHERE).addressee is EVERYBODY


@attrs.frozen
class Sender:
    source: str = attrs.field(validator=is_source)


@pytest.mark.parametrize("source", ["/", "/shop", "urn:shop:orders", "https://shop.example/a?b#c"])
def test_a_source_is_a_uri_reference(source: str) -> None:
    assert Sender(source).source == source


@pytest.mark.parametrize("source", ["", "the shop", "shop\n", "größe", None, 1])
def test_what_is_no_uri_reference_is_no_source(source: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="a URI reference"):
        Sender(source)


@pytest.mark.parametrize("name", ["subscriber", "consumer_group"])
@pytest.mark.parametrize("value", ["", 7])
def test_an_addressee_has_a_name(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=f"{name} = {value!r}"):
        Addressee(**{name: value})
