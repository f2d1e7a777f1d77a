"""Which streams a topic has: one, or several among which its aggregates are divided.

partitions = 1    shop-events
partitions = 3    shop-events:0    shop-events:1    shop-events:2

An aggregate is always in the same stream: that keeps its order while consumers work in parallel.
The number of its stream is the CRC-32 of its id in UTF-8, modulo the number of partitions, so that
publishers in other languages can find it, too.
"""

import re
import zlib
from typing import Final

OWN_KEYS: Final = "pragmatic-ddd:"
"""What every key begins with that is neither a topic's nor that of dead letters."""

_LONGEST_TOPIC = 249
_LIKE_A_PARTITION = re.compile(r".*:\d+")
_RULE = (
    f"a topic on Redis is printable ASCII text without spaces, at most {_LONGEST_TOPIC} characters"
)


def checked_topic(topic: str) -> str:
    """Return a topic that has a stream of its own; a ``broker_rule`` of the topic resolver.

    Raises:
        ValueError: It cannot have one; says the rule.
    """
    is_plain = topic.isascii() and topic.isprintable() and " " not in topic
    if not is_plain or not 0 < len(topic) <= _LONGEST_TOPIC:
        raise ValueError(f"{topic!r}: {_RULE}")
    if topic.startswith(OWN_KEYS):
        raise ValueError(f"{topic!r}: keys that begin with {OWN_KEYS} are this adapter's own")
    if _LIKE_A_PARTITION.fullmatch(topic):
        raise ValueError(f"{topic!r}: a colon and digits at the end are those of partitions")
    return topic


def streams_of(topic: str, partitions: int) -> list[str]:
    """Return the keys of all streams of a topic."""
    return [_stream(topic, number, partitions) for number in range(partitions)]


def stream_of(topic: str, aggregate_id: str, partitions: int) -> str:
    """Return the key of the stream that an aggregate's events are in."""
    if partitions == 1:
        return topic
    return _stream(topic, zlib.crc32(aggregate_id.encode()) % partitions, partitions)


def _stream(topic: str, number: int, partitions: int) -> str:
    return topic if partitions == 1 else f"{topic}:{number}"
