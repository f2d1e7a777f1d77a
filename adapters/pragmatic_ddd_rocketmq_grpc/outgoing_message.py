"""A message on its way to a proxy, checked for all that no proxy would ever take.

The proxy checks the same, but after a journey, and one attempt of the message later.
"""

import datetime as dt
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from pragmatic_ddd_rocketmq_grpc.errors import RefusedMessageError
from pragmatic_ddd_rocketmq_grpc.message_group import LONGEST_BYTES as LONGEST_GROUP_BYTES

LARGEST_BODY_BYTES: Final = 4 * 1024 * 1024
LARGEST_PROPERTIES_BYTES: Final = 16 * 1024  # names and values, and as the proxy counts key and tag
MOST_PROPERTIES: Final = 128
LONGEST_TOPIC: Final = 127
LONGEST_DELAY: Final = dt.timedelta(days=1)

_TOPIC = re.compile(r"[%a-zA-Z0-9_-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SYSTEM_TOPICS = frozenset(
    {
        "OFFSET_MOVED_EVENT",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TBW102",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    }
)
_SYSTEM_PREFIXES = ("RMQ_SYS_", "rmq_sys_", "%RETRY%", "%DLQ%")


@functools.lru_cache(maxsize=1024)  # a refusal is not remembered
def checked_topic(topic: str) -> str:
    """Return a topic that may be sent to.

    Raises:
        RefusedMessageError: Its name is not allowed, or is RocketMQ's own.
    """
    if len(topic) > LONGEST_TOPIC or not _TOPIC.fullmatch(topic):
        raise RefusedMessageError(
            f"topic {topic!r}: 1 to {LONGEST_TOPIC} letters, digits, '%', '_' or '-'"
        )
    if topic in _SYSTEM_TOPICS or topic.startswith(_SYSTEM_PREFIXES):
        raise RefusedMessageError(f"topic {topic!r} is RocketMQ's own")
    return topic


@attrs.frozen(kw_only=True)
class OutgoingMessage:
    """A message that RocketMQ can take. Every rule that it breaks is a ``RefusedMessageError``.

    Attributes:
        topic: Where it goes: a topic of type FIFO, or DELAY where there is a ``deliver_at``.
        body: Its content.
        message_group: What it is kept in order with; ``None`` where there is a ``deliver_at``.
        key: What the broker's tools find it by; without blanks.
        tag: What consumers may filter by; without ``|``.
        properties: Names and values beside the content; an empty value is as good as none.
        deliver_at: When consumers get it; at once, in the order of its group, where ``None``.
    """

    topic: str
    body: bytes = attrs.field(repr=False)
    message_group: str | None
    key: str
    tag: str
    properties: Mapping[str, str] = attrs.field(factory=dict)
    deliver_at: dt.datetime | None = None

    def __attrs_post_init__(self) -> None:
        checked_topic(self.topic)
        self._check_body()
        if (self.message_group is None) is (self.deliver_at is None):
            raise RefusedMessageError("either a message group or a time of delivery")
        if self.message_group is not None:
            _check_group(self.message_group)
        self._check_texts()

    def _check_body(self) -> None:
        if not self.body:
            raise RefusedMessageError("body: empty")
        if len(self.body) > LARGEST_BODY_BYTES:
            raise RefusedMessageError(
                f"body: {len(self.body)} bytes, at most {LARGEST_BODY_BYTES} can be sent"
            )
        if b"\0" in self.body:
            raise RefusedMessageError("body: holds a NUL byte, at which remoting consumers cut it")

    def _check_texts(self) -> None:
        texts = (self.key, self.tag, *self.properties, *self.properties.values())
        joined = "".join(texts)
        if not (joined.isascii() and joined.isprintable()):  # all at once: one by one takes long
            self._check_unusual_texts()
        if self.key.split() != [self.key]:
            raise RefusedMessageError(f"key {self.key!r}: one word, without blanks")
        if not self.tag.strip() or "|" in self.tag:
            raise RefusedMessageError(f"tag {self.tag!r}: not blank, and without '|'")
        if len(self.properties) > MOST_PROPERTIES:
            raise RefusedMessageError(
                f"properties: {len(self.properties)}, at most {MOST_PROPERTIES} can be sent"
            )
        if len(joined) * 4 > LARGEST_PROPERTIES_BYTES:  # it may be: count
            _check_size(texts)

    def _check_unusual_texts(self) -> None:
        _check_text("key", self.key)
        _check_text("tag", self.tag)
        for name, value in self.properties.items():
            _check_text("name of property", name)
            _check_text(f"property {name!r}", value)


def _check_group(group: str) -> None:
    if not group.strip():
        raise RefusedMessageError(f"message group {group!r}: blank")
    _check_text("message group", group)
    if len(group.encode()) > LONGEST_GROUP_BYTES:
        raise RefusedMessageError(
            f"message group {group!r}: {len(group.encode())} bytes, at most {LONGEST_GROUP_BYTES}"
        )


def _check_size(texts: Iterable[str]) -> None:
    size = sum(len(text.encode()) for text in texts)
    if size > LARGEST_PROPERTIES_BYTES:
        raise RefusedMessageError(
            f"properties, key and tag: {size} bytes in all, at most {LARGEST_PROPERTIES_BYTES} can "
            f"be sent"
        )


def _check_text(what: str, text: str) -> None:
    if _CONTROL.search(text):
        raise RefusedMessageError(f"{what} {text!r}: holds a control character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedMessageError(f"{what} {text!r}: cannot be written in UTF-8") from error
