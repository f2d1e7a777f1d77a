"""The proxy's own limits: it would refuse what is refused before sending, and takes the rest.

A rule that is stricter than the proxy's would kill events that it takes, and one that is laxer
would send what cannot arrive.
"""

from collections.abc import Callable, Iterator

import attrs
import pytest

from pragmatic_ddd_rocketmq_grpc.errors import RefusedMessageError
from pragmatic_ddd_rocketmq_grpc.outgoing_message import LARGEST_BODY_BYTES, OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.producer import Producer
from pragmatic_ddd_rocketmq_grpc.sending import SendReceipt
from tests.adapters.rocketmq_grpc.shop import ROOM, a_connection, a_message, a_topic
from tests.services.rocketmq_messages import stored_messages

pytestmark = pytest.mark.service("rocketmq-grpc")

_JUST_IN: dict[str, dict[str, object]] = {
    "body": {"body": b"x" * LARGEST_BODY_BYTES},
    "group": {"message_group": "x" * 63},
    "group in UTF-8": {"message_group": "ü" * 31},
    "properties in all": {"properties": {"a": "x" * ROOM}},
    "properties in UTF-8": {"properties": {"a": "ü" * (ROOM // 2)}},
    "number of properties": {"properties": {f"p{number}": "v" for number in range(128)}},
    "both": {"body": b"x" * LARGEST_BODY_BYTES, "properties": {"a": "x" * ROOM}},
    "any text": {"properties": {"a": 'Größe 订单 😀 "\\ %20'}, "message_group": "Größe 订单 😀"},
}
_JUST_OUT: dict[str, dict[str, object]] = {
    "body": {"body": b"x" * (LARGEST_BODY_BYTES + 1)},
    "group": {"message_group": "x" * 64},
    "group in UTF-8": {"message_group": "ü" * 32},
    "blank group": {"message_group": " "},
    "control character in a group": {"message_group": "a\x02"},
    "properties in all": {"properties": {"a": "x" * (ROOM + 1)}},
    "number of properties": {"properties": {f"p{number}": "v" for number in range(129)}},
    "control character in a property": {"properties": {"a": "x\x02"}},
    "control character of the upper half": {"properties": {"a": "x\x85"}},
    "bar in a tag": {"tag": "a|b"},
    "control character in a tag": {"tag": "a\x02"},
    "control character in a key": {"key": "a\x02"},
}


@pytest.fixture(scope="module")
def producer() -> Iterator[Producer]:
    producer = Producer(connection=a_connection(), window=1)
    producer.start()
    yield producer
    producer.close(within=producer.connection.timeout)


@pytest.mark.parametrize("changes", _JUST_IN.values(), ids=_JUST_IN)
def test_what_is_just_in_is_taken_and_arrives(
    changes: dict[str, object], producer: Producer
) -> None:
    topic = a_topic(1)
    message = a_message(topic=topic, **changes)

    assert isinstance(producer.send(message), SendReceipt)

    (stored,) = stored_messages(topic)
    assert stored.body == message.body
    assert stored.properties["__SHARDINGKEY"] == message.message_group
    for name, value in message.properties.items():
        assert stored.properties[name] == value


@pytest.mark.parametrize("changes", _JUST_OUT.values(), ids=_JUST_OUT)
def test_what_is_just_out_would_be_refused_for_good(
    changes: dict[str, object], producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RefusedMessageError):
        a_message(topic="events", **changes)

    unchecked = _without_checks(lambda: a_message(topic=a_topic(1), **changes), monkeypatch)

    with pytest.raises(RefusedMessageError):
        producer.send(unchecked)


def _without_checks(
    make: Callable[[], OutgoingMessage], monkeypatch: pytest.MonkeyPatch
) -> OutgoingMessage:
    monkeypatch.setattr(OutgoingMessage, "__attrs_post_init__", lambda _: None)
    message = make()
    assert attrs.has(type(message))
    return message
