"""A message on its way to a broker, checked for all that no broker would ever take.

The native client does not say why a message was refused, so what is final is found here.
"""

import functools
import re
from collections.abc import Mapping, Sequence

import attrs

from pragmatic_ddd_rocketmq.errors import RefusedMessageError

SHARDING_KEY = "__SHARDINGKEY"
LARGEST_BODY_BYTES = 4 * 1024 * 1024 - 64 * 1024  # the broker's 4 MiB count after compression
LARGEST_PROPERTIES_BYTES = 31 * 1024  # of the broker's 32 KiB: client and broker add their own
LONGEST_TOPIC = 127
HIGHEST_DELAY_LEVEL = 18

_SEPARATORS_BYTES = 2  # one after the name, one after the value
_TOPIC = re.compile(r"[%a-zA-Z0-9_-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
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

# What client and broker read and write themselves (MessageConst of RocketMQ 5.3).
_SYSTEM_PROPERTIES = frozenset(
    {
        "1ST_POP_TIME",
        "ARRIVE_TIME",
        "BORN_TIMESTAMP",
        "BUYER_ID",
        "CHECK_IMMUNITY_TIME_IN_SECONDS",
        "CLUSTER",
        "CONSUME_START_TIME",
        "CORRECTION_FLAG",
        "CORRELATION_ID",
        "DELAY",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "INNER_BASE",
        "INNER_MULTI_DISPATCH",
        "INNER_MULTI_QUEUE_OFFSET",
        "INNER_NUM",
        "INSTANCE_ID",
        "KEYS",
        "MAX_OFFSET",
        "MAX_RECONSUME_TIMES",
        "MIN_OFFSET",
        "MQ2_FLAG",
        "MSG_REGION",
        "MSG_TYPE",
        "ORIGIN_MESSAGE_ID",
        "PGROUP",
        "POP_CK",
        "POP_CK_OFFSET",
        "PROPERTY_FORWARD_QUEUE_ID",
        "PUSH_REPLY_TIME",
        "REAL_QID",
        "REAL_TOPIC",
        "RECONSUME_TIME",
        "REDIRECT",
        "REPLY_TO_CLIENT",
        "RETRY_TOPIC",
        "TAGS",
        "TIMER_DELAY_LEVEL",
        "TIMER_DELAY_MS",
        "TIMER_DELAY_SEC",
        "TIMER_DELIVER_MS",
        "TIMER_DEL_UNIQKEY",
        "TIMER_DEQUEUE_MS",
        "TIMER_ENQUEUE_MS",
        "TIMER_OUT_MS",
        "TIMER_ROLL_TIMES",
        "TRACE_CONTEXT",
        "TRACE_ON",
        "TRANSACTION_CHECK_TIMES",
        "TRANSFER_FLAG",
        "TRAN_MSG",
        "TRAN_PREPARED_QUEUE_OFFSET",
        "TTL",
        "UNIQ_KEY",
        "WAIT",
    }
)


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
        topic: Where it goes.
        body: Its content, without NUL.
        sharding_key: What it is kept in order with: all messages of one key share a queue.
        key: What the broker's tools find it by; without blanks.
        tag: What consumers may filter by; without blanks and ``|``.
        properties: Names and values beside the content; an empty value is as good as none.
        delay_level: How long the broker keeps it back, as it has configured its levels (1 s,
            5 s, 10 s, 30 s, 1 min, ... by default, from 1 on); 0 for not at all.
    """

    topic: str
    body: bytes = attrs.field(repr=False)
    sharding_key: str
    key: str
    tag: str
    properties: Mapping[str, str] = attrs.field(factory=dict)
    delay_level: int = 0

    def __attrs_post_init__(self) -> None:
        checked_topic(self.topic)
        _check_body(self.body)
        size = _checked_names(tuple(self.properties)).size_bytes + self._checked_texts_bytes()
        if size > LARGEST_PROPERTIES_BYTES:
            raise RefusedMessageError(
                f"properties: {size} bytes in all, at most {LARGEST_PROPERTIES_BYTES} can be sent"
            )
        if not 0 <= self.delay_level <= HIGHEST_DELAY_LEVEL:
            raise RefusedMessageError(f"delay level {self.delay_level}: 0 to {HIGHEST_DELAY_LEVEL}")

    @property
    def encoded_properties(self) -> list[tuple[bytes, bytes]]:
        """The properties as they are sent, the sharding key among them, without empty ones."""
        names = _checked_names(tuple(self.properties)).encoded
        values = self.properties.values()
        encoded = [(name, text.encode()) for name, text in zip(names, values, strict=True) if text]
        encoded.append((SHARDING_KEY.encode(), self.sharding_key.encode()))
        return encoded

    def _checked_texts_bytes(self) -> int:
        """Check all but topic and body, and return how long it is."""
        if not self.sharding_key:
            raise RefusedMessageError("sharding_key: empty")
        values = self.properties.values()
        text = "".join((self.sharding_key, self.key, self.tag, *values))
        if text.isascii() and text.isprintable():  # all at once: one by one takes ten times
            size_bytes = len(text)
        else:
            size_bytes = self._checked_unusual_texts_bytes()
        _check_word("key", self.key)
        _check_tag(self.tag)
        return size_bytes

    def _checked_unusual_texts_bytes(self) -> int:
        _check_text("sharding_key", self.sharding_key)
        _check_text("key", self.key)
        _check_text("tag", self.tag)
        for name, value in self.properties.items():
            _check_text(f"property {name!r}", value)
        texts = (self.sharding_key, self.key, self.tag, *self.properties.values())
        return sum(len(text.encode()) for text in texts)


@attrs.frozen
class _Names:
    """Names of properties that are allowed."""

    encoded: Sequence[bytes]
    size_bytes: int


@functools.lru_cache(maxsize=256)  # one kind of message has the same ones, again and again
def _checked_names(names: tuple[str, ...]) -> _Names:
    for name in names:
        if not name or name in _SYSTEM_PROPERTIES or name.startswith("__"):
            raise RefusedMessageError(f"property {name!r}: empty, or a name of RocketMQ's own")
        _check_text("name of property", name)
    encoded = [name.encode() for name in names]
    sizes = [len(name) + _SEPARATORS_BYTES for name in (*encoded, SHARDING_KEY)]
    return _Names(encoded, sum(sizes))


def _check_body(body: bytes) -> None:
    if not body:
        raise RefusedMessageError("body: empty")
    if len(body) > LARGEST_BODY_BYTES:
        raise RefusedMessageError(
            f"body: {len(body)} bytes, at most {LARGEST_BODY_BYTES} can be sent"
        )
    if b"\0" in body:
        raise RefusedMessageError("body: holds a NUL byte, at which the client's consumers cut it")


@functools.lru_cache(maxsize=1024)  # a refusal is not remembered
def _check_tag(tag: str) -> None:
    _check_word("tag", tag)
    if "|" in tag:
        raise RefusedMessageError(f"tag {tag!r}: without '|', which separates tags")


def _check_word(what: str, text: str) -> None:
    if text.split() != [text]:
        raise RefusedMessageError(f"{what} {text!r}: one word, without blanks")


def _check_text(what: str, text: str) -> None:
    if _CONTROL.search(text):
        raise RefusedMessageError(f"{what} {text!r}: holds a control character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedMessageError(f"{what} {text!r}: cannot be written in UTF-8") from error
