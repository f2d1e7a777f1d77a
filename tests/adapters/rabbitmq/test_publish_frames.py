"""The frames that publish a message: what py-amqp reads out of them is what went in."""

import datetime as dt
import struct
from typing import Any

import amqp
import pytest
from amqp.method_framing import frame_handler

from pragmatic_ddd_rabbitmq.errors import RefusedMessageError
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rabbitmq.publish_frames import PublishFrames
from tests.adapters.rabbitmq.shop import a_message

_FRAME_MAX = 4096


class _Reader:
    """The library's own reader of frames, told that they come from a broker."""

    bytes_recv = 0

    def __init__(self) -> None:
        self.read: list[Any] = []
        self.feed = frame_handler(self, self._take, content_methods=frozenset({(60, 40)}))

    def _take(self, channel: int, method: tuple[int, int], arguments: bytes, content: Any) -> None:  # noqa: ANN401
        self.read.append((channel, method, arguments, content))


def _frames(data: bytes) -> list[tuple[int, int, bytes]]:
    frames = []
    while data:
        kind, channel, size = struct.unpack_from(">BHI", data)
        assert data[7 + size] == 0xCE
        frames.append((kind, channel, data[7 : 7 + size]))
        data = data[8 + size :]
    return frames


def _read(message: OutgoingMessage) -> tuple[Any, bytes, list[tuple[int, int, bytes]]]:
    frames = _frames(PublishFrames(3, _FRAME_MAX).encoded(message))
    reader = _Reader()
    for frame in frames:
        reader.feed(frame)
    ((channel, _, arguments, content),) = reader.read
    assert channel == 3
    return content, arguments, frames


def test_a_message_is_read_as_it_was_written() -> None:
    message = a_message(
        exchange="shop-events",
        routing_key="shop.order.paid",
        body=b'{"total": 5}',
        message_id="event-1",
        headers={
            "cloudEvents_id": "event-1",
            "cloudEvents_subject": "Größe 订单 \N{GRINNING FACE}",
        },
        timestamp=int(dt.datetime(2026, 11, 30, tzinfo=dt.UTC).timestamp()),
    )

    content, arguments, _ = _read(message)

    assert content.body == message.body
    assert content.properties == {
        "content_type": "application/json",
        "application_headers": dict(message.headers),
        "delivery_mode": 2,
        "message_id": "event-1",
        "timestamp": message.timestamp,
        "type": "shop.order.paid",
    }
    mandatory = b"\x01"
    assert arguments == b"\x00\x3c\x00\x28\x00\x00\x0bshop-events\x0fshop.order.paid" + mandatory


def test_it_is_what_the_library_would_have_written() -> None:
    message = a_message(headers={"a": "1", "b": "zwei"}, timestamp=7)
    theirs = amqp.Message(
        message.body,
        content_type="application/json",
        application_headers=dict(message.headers),
        delivery_mode=2,
        message_id=message.message_id,
        timestamp=7,
        type=message.type,
    )

    _, header, _ = _frames(PublishFrames(1, _FRAME_MAX).encoded(message))

    head = struct.pack(">HHQ", 60, 0, len(message.body))
    assert header[2] == head + theirs._serialize_properties()


@pytest.mark.parametrize("size", [0, 1, _FRAME_MAX - 8, _FRAME_MAX - 7, 3 * _FRAME_MAX])
def test_a_body_has_as_many_frames_as_it_needs(size: int) -> None:
    body = bytes(index % 251 for index in range(size))

    content, _, frames = _read(a_message(body=body))

    assert content.body == (body or "")
    assert all(len(payload) <= _FRAME_MAX - 8 for _, _, payload in frames)


def test_without_a_time_there_is_no_timestamp() -> None:
    content, _, _ = _read(a_message(timestamp=None))

    assert "timestamp" not in content.properties


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
        PublishFrames(1, _FRAME_MAX).encoded(a_message(**changes))
