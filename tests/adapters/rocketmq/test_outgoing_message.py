"""What no broker would ever take is found before sending."""

from typing import Any

import pytest

from pragmatic_ddd_rocketmq.errors import RefusedMessageError
from pragmatic_ddd_rocketmq.outgoing_message import (
    LARGEST_BODY_BYTES,
    LARGEST_PROPERTIES_BYTES,
    OutgoingMessage,
)
from tests.adapters.rocketmq.shop import a_message


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"topic": ""}, "topic ''"),
        ({"topic": "shop.events"}, "letters, digits"),
        ({"topic": "shop events"}, "letters, digits"),
        ({"topic": "bestellungen-ü"}, "letters, digits"),
        ({"topic": "shop-events\n"}, "letters, digits"),
        ({"topic": "x" * 128}, "1 to 127"),
        ({"topic": "TBW102"}, "RocketMQ's own"),
        ({"topic": "RMQ_SYS_TRACE_TOPIC"}, "RocketMQ's own"),
        ({"topic": "%DLQ%shop"}, "RocketMQ's own"),
        ({"body": b""}, "empty"),
        ({"body": b"x" * (LARGEST_BODY_BYTES + 1)}, "at most"),
        ({"body": b"a\0b"}, "NUL"),
        ({"sharding_key": ""}, "sharding_key: empty"),
        ({"sharding_key": "a\x02b"}, "control character"),
        ({"key": ""}, "without blanks"),
        ({"key": "two words"}, "without blanks"),
        ({"tag": "a||b"}, "separates tags"),
        ({"tag": "a b"}, "without blanks"),
        ({"properties": {"": "x"}}, "RocketMQ's own"),
        ({"properties": {"KEYS": "x"}}, "RocketMQ's own"),
        ({"properties": {"__SHARDINGKEY": "x"}}, "RocketMQ's own"),
        ({"properties": {"a\x01b": "x"}}, "control character"),
        ({"properties": {"a": "x\x02y"}}, "control character"),
        ({"properties": {"a": "\ud800"}}, "UTF-8"),
        ({"properties": {"a": "x" * LARGEST_PROPERTIES_BYTES}}, "properties:"),
        ({"properties": {f"p{n}": "ü" * 500 for n in range(40)}}, "properties:"),
        ({"delay_level": 19}, "0 to 18"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedMessageError, match=reason):
        a_message(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "%Shop_events-1"},
        {"topic": "x" * 127},
        {"body": b"x" * LARGEST_BODY_BYTES},
        {"sharding_key": "ein Kunde, 订单 😀"},
        {"properties": {"tenant": "Größe 订单 😀", "empty": ""}},
        {"properties": {"a": "x" * 31_000}},
        {"delay_level": 18},
    ],
)
def test_a_message_at_the_limits_is_taken(changes: dict[str, Any]) -> None:
    assert isinstance(a_message(**changes), OutgoingMessage)


def test_the_sharding_key_travels_as_a_property_and_empty_ones_do_not() -> None:
    message = a_message(sharding_key="Ärger", properties={"tenant": "acme", "empty": ""})

    assert message.encoded_properties == [
        (b"tenant", b"acme"),
        (b"__SHARDINGKEY", "Ärger".encode()),
    ]
