"""Records: what is sent to Kafka, and what came from there, without the client's own classes."""

from collections.abc import Sequence
from typing import Self

import attrs
from confluent_kafka import Message

Place = tuple[str, int]
"""A partition: its topic and number."""


@attrs.frozen
class Position:
    """Where the consumers of a partition go on.

    Attributes:
        offset: Of the next record.
        leader_epoch: Of the record before it: after the loss of a leader it tells whether what
            was consumed is still what lies there; ``None`` where it is not known.
    """

    offset: int
    leader_epoch: int | None = None


@attrs.frozen(kw_only=True)
class OutgoingRecord:
    """A record to be sent.

    Attributes:
        topic: Where it goes.
        key: What chooses the partition; any one, where ``None``.
        value: Its content.
        headers: Names and values, in order.
    """

    topic: str
    key: bytes | None
    value: bytes | None = attrs.field(repr=False)
    headers: Sequence[tuple[str, bytes | None]] = attrs.field(default=(), repr=False)


@attrs.frozen
class Delivery:
    """Where the broker has stored a record.

    Attributes:
        topic: The topic.
        partition: Number of the partition.
        offset: Its place there; ``None`` where the broker knew a resend by its number, and did
            not say.
    """

    topic: str
    partition: int
    offset: int | None

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return what a delivery report says."""
        offset = message.offset()
        is_known = offset is not None and offset >= 0
        return cls(message.topic() or "", message.partition() or 0, offset if is_known else None)

    def __str__(self) -> str:
        place = f"{self.topic}/{self.partition}"
        return place if self.offset is None else f"{place}@{self.offset}"


@attrs.frozen(kw_only=True)
class ReceivedRecord:
    """A record that was received.

    Attributes:
        topic: Where it lies.
        partition: Number of the partition.
        offset: Its place there.
        key: What chose the partition, if anything did.
        value: Its content; ``None`` is a tombstone.
        headers: Names and values, in order; a name may come more than once.
        timestamp_ms: When it was made, or stored, as the topic is set: milliseconds since 1970;
            ``None`` where it does not say.
        leader_epoch: Which leadership of the partition it was stored in; ``None`` where the
            broker does not say.
        flaw: Why its headers cannot be read, if so; then there are none here.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None = None
    value: bytes | None = attrs.field(default=None, repr=False)
    headers: Sequence[tuple[str, bytes | None]] = attrs.field(default=(), repr=False)
    timestamp_ms: int | None = None
    leader_epoch: int | None = None
    flaw: str | None = None

    @classmethod
    def of(cls, message: Message) -> Self:
        """Copy what the client has received."""
        _, timestamp = message.timestamp()
        headers: Sequence[tuple[str, bytes | None]] = ()
        flaw = None
        try:
            headers = _encoded(message)
        except (SystemError, UnicodeError) as error:  # a name that is no UTF-8
            flaw = f"its headers cannot be read: {error.__cause__ or error}"
        return cls(
            topic=message.topic() or "",
            partition=message.partition() or 0,
            offset=message.offset() or 0,
            key=message.key(),
            value=message.value(),
            headers=headers,
            timestamp_ms=timestamp if timestamp > 0 else None,
            leader_epoch=message.leader_epoch(),
            flaw=flaw,
        )

    @property
    def place(self) -> Place:
        """Its partition."""
        return self.topic, self.partition

    @property
    def next_position(self) -> Position:
        """Where its consumers go on when it is done."""
        return Position(self.offset + 1, self.leader_epoch)

    @property
    def where(self) -> str:
        """Where it lies, for people: unique in the cluster, until its topic is made anew."""
        return f"{self.topic}/{self.partition}@{self.offset}"

    @property
    def identity(self) -> str:
        """Which one it is, for counting its tries."""
        return f"{self.where}/{self.timestamp_ms}"


def _encoded(message: Message) -> list[tuple[str, bytes | None]]:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(name, value.encode() if isinstance(value, str) else value) for name, value in pairs]
