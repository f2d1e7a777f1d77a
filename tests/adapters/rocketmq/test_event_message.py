"""Events as RocketMQ messages, and back."""

import datetime as dt
from typing import Any

import pytest

from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_rocketmq.errors import RefusedMessageError
from pragmatic_ddd_rocketmq.event_message import Addressee, outgoing, received
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage
from tests.adapters.rocketmq.shop import a_stored_event


def delivered(message: OutgoingMessage, **properties: str) -> ReceivedMessage:
    return ReceivedMessage(
        message_id="7F0000",
        topic=message.topic,
        body=message.body,
        properties={**message.properties, **properties},
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


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"event_version": "one"}, "invalid literal"),
        ({"aggregate_version": "x"}, "invalid literal"),
        ({"headers": "{"}, "Expecting"),
        ({"headers": "[]"}, "no JSON object"),
    ],
)
def test_a_property_that_makes_no_sense_makes_the_message_unreadable(
    properties: dict[str, str], reason: str
) -> None:
    with pytest.raises(EventDeserializationError, match=reason):
        received(delivered(outgoing(a_stored_event(), "shop-events"), **properties))


@pytest.mark.parametrize("missing", ["message_id", "aggregate_id"])
def test_a_missing_property_makes_the_message_unreadable(missing: str) -> None:
    message = delivered(outgoing(a_stored_event(), "shop-events"))
    properties = {name: value for name, value in message.properties.items() if name != missing}
    stripped = ReceivedMessage(
        message_id="1", topic="t", body=b"{}", properties=properties, stored_at=message.stored_at
    )

    with pytest.raises(EventDeserializationError, match=missing):
        received(stripped)


def test_an_empty_body_makes_the_message_unreadable() -> None:
    message = delivered(outgoing(a_stored_event(), "shop-events"))
    empty = ReceivedMessage(
        message_id="1",
        topic="t",
        body=b"",
        properties=message.properties,
        stored_at=message.stored_at,
    )

    with pytest.raises(EventDeserializationError, match="payload"):
        received(empty)
