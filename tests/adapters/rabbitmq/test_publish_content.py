"""What py-amqp is given to publish, and what it is not given."""

import datetime as dt
from typing import Any

import pytest

from pragmatic_ddd_rabbitmq.errors import RefusedMessageError
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rabbitmq.publish_content import publish_content
from tests.adapters.rabbitmq.shop import a_message

_FRAME_MAX = 4096


def _content(message: OutgoingMessage) -> Any:  # noqa: ANN401  # of a library without types
    return publish_content(message, frame_max_bytes=_FRAME_MAX)


def test_a_message_says_all_that_it_is() -> None:
    message = a_message(
        body=b'{"total": 5}',
        message_id="event-1",
        headers={"cloudEvents_subject": "Größe 订单 \N{GRINNING FACE}"},
        timestamp=int(dt.datetime(2026, 11, 30, tzinfo=dt.UTC).timestamp()),
    )

    content = _content(message)

    assert content.body == message.body
    assert content.properties == {
        "content_type": "application/json",
        "application_headers": {
            "cloudEvents_subject": message.headers["cloudEvents_subject"].encode()
        },
        "delivery_mode": 2,
        "message_id": "event-1",
        "timestamp": message.timestamp,
        "type": "shop.order.paid",
    }


def test_without_a_time_there_is_no_timestamp() -> None:
    assert "timestamp" not in _content(a_message(timestamp=None)).properties


def test_the_largest_headers_that_are_taken_fill_a_frame() -> None:
    empty = _content(a_message(message_id="e", headers={"a": ""}, timestamp=1))
    head = 12
    room = _FRAME_MAX - 8 - head - len(empty._serialize_properties())

    largest = _content(a_message(message_id="e", headers={"a": "x" * room}, timestamp=1))

    assert head + len(largest._serialize_properties()) == _FRAME_MAX - 8
    with pytest.raises(RefusedMessageError, match="fit into a frame"):
        _content(a_message(message_id="e", headers={"a": "x" * (room + 1)}, timestamp=1))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"message_id": "x" * 256}, "message id: 256 bytes"),
        ({"routing_key": "ü" * 128}, "routing key: 256 bytes"),
        ({"exchange": "x" * 256}, "exchange: 256 bytes"),
        ({"type": "x" * 256}, "type: 256 bytes"),
        ({"headers": {"x" * 256: ""}}, "name of header"),
        ({"headers": {"a": "x" * _FRAME_MAX}}, "fit into a frame"),
        ({"headers": {"a": "\ud800"}}, "header a: cannot be written in UTF-8"),
        ({"message_id": "\ud800"}, "message id: cannot be written"),
    ],
)
def test_what_does_not_fit_into_amqp_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(RefusedMessageError, match=rule):
        _content(a_message(**changes))
