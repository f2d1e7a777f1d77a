"""A message as it came, copied out of the native client while its handle is valid."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pragmatic_ddd_rocketmq.outgoing_message import SHARDING_KEY


@attrs.frozen(kw_only=True)
class ReceivedMessage:
    """A received message.

    Attributes:
        message_id: The id that the sending client gave it; another one after every resend.
        topic: Where it came from.
        body: Its content, cut at the first NUL where it holds one.
        sharding_key: What it is kept in order with; empty where it has none.
        keys: What the broker's tools find it by, separated by blanks.
        tag: What consumers may filter by.
        properties: Those that were asked for and are there.
        queue_id: Its queue at its broker.
        queue_offset: Its place in that queue.
        stored_at: When the broker stored it, by the broker's clock.
    """

    message_id: str
    topic: str
    body: bytes = attrs.field(repr=False)
    sharding_key: str = ""
    keys: str = ""
    tag: str = ""
    properties: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    queue_id: int = 0
    queue_offset: int = 0
    stored_at: dt.datetime

    @property
    def where(self) -> str:
        """Which message it is, for people."""
        return (
            f"message {self.message_id} of {self.topic} (queue {self.queue_id}, "
            f"offset {self.queue_offset})"
        )


def message_id_of(native: Any, handle: int) -> str:  # noqa: ANN401 - ctypes.CDLL
    """Return a message's id without copying the message."""
    return _text(native.GetMessageId(handle))


def copied(native: Any, handle: int, properties: Iterable[str]) -> ReceivedMessage:  # noqa: ANN401
    """Copy a message out of the native client.

    Args:
        native: The library's functions.
        handle: Valid as long as the callback that was given it has not returned.
        properties: Names to copy: the library cannot list those that a message has.
    """
    found = ((name, _text(native.GetMessageProperty(handle, name.encode()))) for name in properties)
    return ReceivedMessage(
        message_id=message_id_of(native, handle),
        topic=_text(native.GetMessageTopic(handle)),
        body=native.GetMessageBody(handle) or b"",
        sharding_key=_text(native.GetMessageProperty(handle, SHARDING_KEY.encode())),
        keys=_text(native.GetMessageKeys(handle)),
        tag=_text(native.GetMessageTags(handle)),
        properties={name: value for name, value in found if value},
        queue_id=native.GetMessageQueueId(handle),
        queue_offset=native.GetMessageQueueOffset(handle),
        stored_at=_time(native.GetMessageStoreTimestamp(handle)),
    )


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _time(milliseconds: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=milliseconds)
