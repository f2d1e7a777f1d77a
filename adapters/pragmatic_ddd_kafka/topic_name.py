"""Which names a topic of Kafka can have."""

import re
from typing import Final

LONGEST_TOPIC: Final = 249

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_INTERNAL = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


def checked_topic(topic: str) -> str:
    """Return a topic that Kafka allows; the ``broker_rule`` of a ``ConfigurableTopicResolver``.

    Raises:
        ValueError: It does not; says the rule.
    """
    if len(topic) > LONGEST_TOPIC or not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
        raise ValueError(
            f"topic {topic!r}: 1 to {LONGEST_TOPIC} letters, digits, '.', '_' or '-', and not "
            f"'.' or '..'"
        )
    if topic in _INTERNAL:
        raise ValueError(f"topic {topic!r}: it is one of Kafka's own")
    return topic
