"""A message as py-amqp takes it, once it is known that AMQP can carry it.

    OutgoingMessage ──▶ content: properties, headers, body
                    ──▶ RefusedMessageError: a name is too long, the headers are larger than a
                        frame, or a text is no Unicode

The library checks none of that: RabbitMQ would close the connection over it, with everything
that is under way.
"""

import functools
from typing import Any, Final

import amqp

from pragmatic_ddd_rabbitmq.errors import RefusedMessageError
from pragmatic_ddd_rabbitmq.outgoing_message import LONGEST_NAME_BYTES, OutgoingMessage

_PERSISTENT: Final = 2
_FRAME_OVERHEAD_BYTES: Final = 8
# Class, size of the body, property flags, length of the table, delivery mode, time.
_FIXED_BYTES: Final = 12 + 2 + 4 + 1 + 8
_LENGTH_BYTES: Final = 1  # in front of a short text
_HEADER_BYTES: Final = _LENGTH_BYTES + 1 + 4  # length of the name, kind of value, its length


def publish_content(message: OutgoingMessage, *, frame_max_bytes: int) -> Any:  # noqa: ANN401  # of a library without types
    """Return the content of ``basic.publish``.

    Args:
        message: What is to be published.
        frame_max_bytes: Largest frame that the broker takes, as it was negotiated.

    Raises:
        RefusedMessageError: It does not fit into AMQP; says what.
    """
    _short("exchange", message.exchange)
    _short("routing key", message.routing_key)
    headers = {name: _encoded(f"header {name}", text) for name, text in message.headers.items()}
    size = (
        _FIXED_BYTES
        + _short("content type", message.content_type)
        + len(_checked("message id", message.message_id))
        + _LENGTH_BYTES
        + _short("type", message.type)
        + sum(_header_name(name) + len(value) for name, value in headers.items())
    )
    room = frame_max_bytes - _FRAME_OVERHEAD_BYTES
    if size > room:
        raise RefusedMessageError(
            f"headers: {size} bytes with the properties, at most {room} fit into a frame"
        )
    time = {} if message.timestamp is None else {"timestamp": message.timestamp}
    return amqp.Message(
        message.body,
        content_type=message.content_type,
        application_headers=headers,
        delivery_mode=_PERSISTENT,
        message_id=message.message_id,
        type=message.type,
        **time,
    )


@functools.lru_cache(maxsize=256)  # there are few, again and again
def _short(what: str, text: str) -> int:
    """Return how many bytes a short text takes."""
    return _LENGTH_BYTES + len(_checked(what, text))


@functools.lru_cache(maxsize=256)
def _header_name(name: str) -> int:
    """Return how many bytes a header takes beside its value."""
    return _HEADER_BYTES + len(_checked(f"name of header {name[:40]!r}", name))


def _checked(what: str, text: str) -> bytes:
    encoded = _encoded(what, text)
    if len(encoded) > LONGEST_NAME_BYTES:
        raise RefusedMessageError(
            f"{what}: {len(encoded)} bytes, at most {LONGEST_NAME_BYTES} can be sent"
        )
    return encoded


def _encoded(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RefusedMessageError(f"{what}: cannot be written in UTF-8") from error
