"""Events as RocketMQ messages, and back."""

import datetime as dt
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.events import Addressee
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_rocketmq.errors import RefusedMessageError
from pragmatic_ddd_rocketmq.event_message import event_type_of, outgoing, received
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage
from tests.adapters.rocketmq.shop import a_stored_event


def delivered(message: OutgoingMessage, **properties: str) -> ReceivedMessage:
    return ReceivedMessage(
        message_id="7F0000",
        topic=message.topic,
        body=message.body,
        properties={**message.properties, **properties},
        queue_id=2,
        queue_offset=5,
        stored_at=dt.datetime.now(dt.UTC),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aggregate_version": None, "event_index": 0},
        {"aggregate_type": ""},
        {"headers": {"tenant": "Größe 订单 😀", "traceparent": "00-4bf9-00", "empty": ""}},
        {"headers": {"KEYS": 'quoted "name"', "__SHARDINGKEY": "a\x01b\nc"}},
        {"message_id": "eine Ümlaut-id mit Leerzeichen", "aggregate_id": "订单 1"},
        {"payload": '{"note": "ünï😀"}'.encode()},
    ],
)
def test_an_event_comes_back_as_it_was_stored(changes: dict[str, Any]) -> None:
    stored = a_stored_event(**changes)

    assert received(delivered(outgoing(stored, "shop-events"))).message == stored


def test_the_aggregate_chooses_the_queue_and_the_tools_find_the_event() -> None:
    message = outgoing(a_stored_event(message_id="event 1", aggregate_id="order 1"), "shop-events")

    assert message.sharding_key == "order 1"
    assert message.key == "event%201"
    assert message.tag == "shop.order.paid"


def test_a_tag_holds_neither_blanks_nor_bars() -> None:
    assert outgoing(a_stored_event(event_type="a b||c"), "t").tag == "a_b_c"


@pytest.mark.parametrize(
    "addressee",
    [
        Addressee(),
        Addressee(subscriber="mail"),
        Addressee(subscriber="mail", only_this=True),
        Addressee(subscriber="mail", consumer_group="shop"),
    ],
)
def test_whom_it_is_for_comes_back(addressee: Addressee) -> None:
    message = outgoing(a_stored_event(), "shop-events", addressee, delay_level=2)

    assert received(delivered(message)).addressee == addressee
    assert message.delay_level == 2


def test_headers_that_do_not_fit_are_refused() -> None:
    headers = {f"header-{number}": "x" * 4096 for number in range(8)}

    with pytest.raises(RefusedMessageError, match="properties"):
        outgoing(a_stored_event(headers=headers), "shop-events")


@pytest.mark.parametrize("field", ["message_id", "aggregate_type", "aggregate_id", "event_type"])
def test_half_a_surrogate_is_refused_wherever_it_stands(field: str) -> None:
    with pytest.raises(RefusedMessageError, match="cannot be written in UTF-8"):
        outgoing(a_stored_event(**{field: "half \ud800"}), "shop-events")


def test_the_attributes_are_properties_under_the_prefix() -> None:
    stored = a_stored_event(
        message_id="event-1",
        payload=b'{"aggregate_id":"order-1","occurred_at":"2026-01-02T03:04:05+00:00"}',
        headers={"operation-code": "pay", "tenant": "42"},
    )

    assert outgoing(stored, "shop-events", source="/shop").properties == {
        "ce_specversion": "1.0",
        "ce_id": "event-1",
        "ce_source": "/shop",
        "ce_type": "shop.order.paid",
        "ce_subject": "order-1",
        "ce_time": "2026-01-02T03:04:05+00:00",
        "ce_datacontenttype": "application/json",
        "ce_aggregatetype": "shop.order",
        "ce_aggregateversion": "3",
        "ce_eventindex": "1",
        "ce_eventversion": "1",
        "ce_operationcode": "pay",
        "ce_headers": '{"tenant": "42"}',
    }


def test_the_type_is_known_without_reading_the_message() -> None:
    message = delivered(outgoing(a_stored_event(), "shop-events"), ce_eventversion="one")

    assert event_type_of(message) == "shop.order.paid"
    assert event_type_of(attrs.evolve(message, properties={})) == ""


@pytest.mark.parametrize("name", ["ce_eventversion", "ce_headers"])
def test_a_property_that_makes_no_sense_makes_the_message_unreadable(name: str) -> None:
    message = delivered(outgoing(a_stored_event(), "shop-events"), **{name: "["})

    with pytest.raises(EventDeserializationError) as caught:
        received(message)
    assert name.removeprefix("ce_") in str(caught.value)
    assert "message 7F0000 of shop-events (queue 2, offset 5)" in str(caught.value)


def test_it_is_known_where_it_came_from() -> None:
    assert received(delivered(outgoing(a_stored_event(), "shop-events"))).topic == "shop-events"
