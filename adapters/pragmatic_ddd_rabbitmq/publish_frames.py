"""A message as the frames that publish it: method, header and body.

    method   basic.publish, exchange, routing key, mandatory
    header   size of the body; content type, headers, delivery mode, id, time, type
    body     as many as the largest frame of the connection asks for

py-amqp writes any AMQP value, item by item, and takes seven times as long as this, which knows
that all headers are text. Whoever relays events from an outbox spends most of a send here.
"""

import functools
import struct
from collections.abc import Mapping
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.errors import RefusedMessageError
from pragmatic_ddd_rabbitmq.outgoing_message import LONGEST_NAME_BYTES, OutgoingMessage

_METHOD_FRAME: Final = 1
_HEADER_FRAME: Final = 2
_BODY_FRAME: Final = 3
_FRAME_END: Final = b"\xce"
_FRAME_OVERHEAD_BYTES: Final = 8

_BASIC: Final = 60
_PUBLISH: Final = 40
_MANDATORY: Final = b"\x01"
_PERSISTENT: Final = b"\x02"
_LONG_STRING: Final = b"S"

_FRAME_HEAD: Final = struct.Struct(">BHI")  # type, channel, size
_PUBLISH_HEAD: Final = struct.Struct(">HHH")  # class, method, nothing
_CONTENT_HEAD: Final = struct.Struct(">HHQH")  # class, nothing, size of the body, properties
_LENGTH: Final = struct.Struct(">I")
_TIMESTAMP: Final = struct.Struct(">Q")

# content_type, headers, delivery_mode, message_id, type
_PROPERTIES: Final = 1 << 15 | 1 << 13 | 1 << 12 | 1 << 7 | 1 << 5
_WITH_TIMESTAMP: Final = _PROPERTIES | 1 << 6

_MOST_DESTINATIONS: Final = 1000


def _short_text(what: str, text: str) -> bytes:
    encoded = _encoded(what, text)
    if len(encoded) > LONGEST_NAME_BYTES:
        raise RefusedMessageError(
            f"{what}: {len(encoded)} bytes, at most {LONGEST_NAME_BYTES} can be sent"
        )
    return bytes((len(encoded),)) + encoded


def _encoded(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RefusedMessageError(f"{what}: cannot be written in UTF-8") from error


@functools.lru_cache(maxsize=64)
def _content_type(text: str) -> bytes:
    return _short_text("content type", text)


@functools.lru_cache(maxsize=256)  # one kind of message has the same ones, again and again
def _header_name(name: str) -> bytes:
    return _short_text(f"name of header {name[:40]!r}", name) + _LONG_STRING


@attrs.define(eq=False)
class PublishFrames:
    """Encodes messages for one channel of one connection.

    Attributes:
        channel_id: Number of the channel.
        frame_max_bytes: Largest frame that the broker takes, as it was negotiated.
    """

    channel_id: int
    frame_max_bytes: int
    _methods: dict[tuple[str, str], bytes] = attrs.field(factory=dict, init=False, repr=False)

    def encoded(self, message: OutgoingMessage) -> bytes:
        """Return all frames of a message.

        Raises:
            RefusedMessageError: It does not fit into AMQP: a name is too long, the headers are
                larger than a frame, or a text is no Unicode.
        """
        header = self._header(message)
        room = self.frame_max_bytes - _FRAME_OVERHEAD_BYTES
        if len(header) > room:
            raise RefusedMessageError(
                f"headers: {len(header)} bytes with the properties, at most {room} fit into a frame"
            )
        method = self._methods.get(message.destination) or self._method(message)
        body = message.body
        parts = [method, self._frame(_HEADER_FRAME, header)]
        if len(body) <= room:
            parts.append(self._frame(_BODY_FRAME, body) if body else b"")
        else:
            parts += (
                self._frame(_BODY_FRAME, body[start : start + room])
                for start in range(0, len(body), room)
            )
        return b"".join(parts)

    def _frame(self, kind: int, payload: bytes) -> bytes:
        head = _FRAME_HEAD.pack(kind, self.channel_id, len(payload))
        return b"".join((head, payload, _FRAME_END))

    def _method(self, message: OutgoingMessage) -> bytes:
        if len(self._methods) >= _MOST_DESTINATIONS:
            self._methods.clear()
        frame = self._frame(
            _METHOD_FRAME,
            _PUBLISH_HEAD.pack(_BASIC, _PUBLISH, 0)
            + _short_text("exchange", message.exchange)
            + _short_text("routing key", message.routing_key)
            + _MANDATORY,
        )
        self._methods[message.destination] = frame
        return frame

    def _header(self, message: OutgoingMessage) -> bytes:
        has_time = message.timestamp is not None
        return b"".join(
            (
                _CONTENT_HEAD.pack(
                    _BASIC, 0, len(message.body), _WITH_TIMESTAMP if has_time else _PROPERTIES
                ),
                _content_type(message.content_type),
                _table(message.headers),
                _PERSISTENT,
                _short_text("message id", message.message_id),
                _TIMESTAMP.pack(message.timestamp) if has_time else b"",
                _short_text("type", message.type),
            )
        )


def _table(headers: Mapping[str, str]) -> bytes:
    try:
        values = [text.encode() for text in headers.values()]
    except UnicodeEncodeError:
        values = [_encoded(f"header {name}", text) for name, text in headers.items()]
    parts: list[bytes] = []
    for name, value in zip(headers, values, strict=True):
        parts += (_header_name(name), _LENGTH.pack(len(value)), value)
    table = b"".join(parts)
    return _LENGTH.pack(len(table)) + table
