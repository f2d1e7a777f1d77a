"""What no proxy takes is found before sending. The real one has the last word in test_limits."""

import datetime as dt
from typing import Any

import pytest

from pragmatic_ddd_rocketmq_grpc import checked_topic
from pragmatic_ddd_rocketmq_grpc.errors import RefusedMessageError
from pragmatic_ddd_rocketmq_grpc.outgoing_message import LARGEST_BODY_BYTES
from tests.adapters.rocketmq_grpc.shop import ROOM, a_message

_NOW = dt.datetime.now(dt.UTC)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"topic": "shop.events"}, "letters, digits"),
        ({"topic": "x" * 128}, "1 to 127"),
        ({"topic": "TBW102"}, "RocketMQ's own"),
        ({"topic": "%DLQ%shop"}, "RocketMQ's own"),
        ({"body": b""}, "empty"),
        ({"body": b"x" * (LARGEST_BODY_BYTES + 1)}, "at most 4194304"),
        ({"body": b"a\0b"}, "NUL"),
        ({"message_group": ""}, "blank"),
        ({"message_group": " "}, "blank"),
        ({"message_group": "x" * 64}, "64 bytes, at most 63"),
        ({"message_group": "ü" * 32}, "64 bytes, at most 63"),
        ({"message_group": "a\x02b"}, "control character"),
        ({"message_group": "\ud83d"}, "UTF-8"),
        ({"message_group": None}, "either"),
        ({"deliver_at": _NOW}, "either"),
        ({"key": ""}, "one word"),
        ({"key": "a b"}, "one word"),
        ({"key": "a\x02b"}, "control character"),
        ({"tag": ""}, "not blank"),
        ({"tag": "a|b"}, r"without '\|'"),
        ({"tag": "a\x85b"}, "control character"),
        ({"properties": {"a": "x\ny"}}, "property 'a'.*control character"),
        ({"properties": {"a": "\ud83d"}}, "property 'a'.*UTF-8"),
        ({"properties": {f"p{n}": "v" for n in range(129)}}, "129, at most 128"),
        ({"properties": {"a": "x" * (ROOM + 1)}}, "16385 bytes in all, at most 16384"),
        ({"properties": {"a": "ü" * (ROOM // 2) + "xx"}}, "16385 bytes in all, at most 16384"),
    ],
)
def test_a_rule_that_is_broken_is_named(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(RefusedMessageError, match=rule):
        a_message(**changes)


def test_what_is_just_within_the_rules_is_taken() -> None:
    a_message(body=b"x" * LARGEST_BODY_BYTES)
    a_message(message_group="x" * 63)
    a_message(properties={f"p{n}": "v" for n in range(128)})
    a_message(properties={"a": "x" * ROOM})
    a_message(properties={"a": "ü" * (ROOM // 2)})
    a_message(message_group=None, deliver_at=_NOW)


def test_a_topic_may_have_the_names_that_rocketmq_allows() -> None:
    assert checked_topic("shop_events-1%x") == "shop_events-1%x"
