"""One attempt of the native client to send one message, with one timeout.

The library would repeat it without a pause, on another broker, and out of order.
"""

import ctypes

import attrs

from pragmatic_ddd_rocketmq.errors import check_confirmed
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import NativeLibrary, QueueSelector, SendResult
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.queue_selection import java_hash_code, jump_consistent_hash

_NO_RETRIES = 0


@attrs.frozen(kw_only=True)
class SendReceipt:
    """What the broker answered to a message that it has stored.

    Attributes:
        message_id: The id that the client gave it.
        queue_offset: Its place in its queue.
    """

    message_id: str
    queue_offset: int


class _Selection(ctypes.Structure):
    """What the selector is told about one send, and what it leaves behind."""

    _fields_ = (("key_hash", ctypes.c_longlong), ("queues", ctypes.c_int))


def _select(queues: int, _message: int | None, argument: int) -> int:
    """Choose a queue; the library reads whatever memory a wrong answer points to."""
    selection = _Selection.from_address(argument)
    selection.queues = queues
    return jump_consistent_hash(selection.key_hash, queues)


_selector = QueueSelector(_select)  # one for all sends, never collected


def attempt(
    library: NativeLibrary, producer: int, message: OutgoingMessage, name_servers: NameServers
) -> SendReceipt:
    """Send a message, once.

    Args:
        library: The loaded library.
        producer: Its handle of a producer that is started, and not shut down beside this.
        message: What is sent.
        name_servers: Where the producer asks for routes, for errors.

    Raises:
        NotConfirmedError: The broker did not confirm; it may or may not have it.
    """
    make = library.messages
    result = SendResult()
    selection = _Selection(key_hash=java_hash_code(message.sharding_key))
    native_message = make.create(message.topic.encode())
    try:
        make.set_body(native_message, message.body, len(message.body))
        make.set_keys(native_message, message.key.encode())
        make.set_tags(native_message, message.tag.encode())
        for name, value in message.encoded_properties:
            make.set_property(native_message, name, value)
        if message.delay_level:
            make.set_delay_level(native_message, message.delay_level)
        status = library.send_orderly(
            producer,
            native_message,
            _selector,
            ctypes.byref(selection),
            _NO_RETRIES,
            ctypes.byref(result),
        )
    finally:
        make.destroy(native_message)
    check_confirmed(
        status=status,
        send_status=result.send_status,
        has_route=selection.queues > 0,
        last_error=library.last_error() if status else "",
        context=lambda: f"topic {message.topic} at {name_servers}",
    )
    return SendReceipt(
        message_id=result.message_id.decode(errors="replace"), queue_offset=result.queue_offset
    )
