"""A message on its way to an exchange, and what RabbitMQ allows."""

from collections.abc import Mapping
from typing import Final

import attrs

from pragmatic_ddd.application.events.wire_attributes import SUBSCRIBER

PREFIX: Final = "cloudEvents_"  # of CloudEvents' attributes among the headers
SUBSCRIBER_HEADER: Final = PREFIX + SUBSCRIBER

JSON: Final = "application/json"
LONGEST_NAME_BYTES: Final = 255  # of exchanges, queues, routing keys and message ids

Identity = tuple[str, str, str, object]

_RESERVED: Final = "amq."


@attrs.frozen(kw_only=True)
class OutgoingMessage:
    """A persistent message.

    Attributes:
        exchange: Where it goes.
        routing_key: What bindings compare.
        body: Its content.
        message_id: The event's id.
        type: The event's type.
        headers: Names and values in text.
        timestamp: When the event occurred, in seconds since 1970; ``None`` if it is not known.
        content_type: What the body is.
    """

    exchange: str
    routing_key: str
    body: bytes = attrs.field(repr=False)
    message_id: str
    type: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    timestamp: int | None = None
    content_type: str = JSON

    @property
    def destination(self) -> tuple[str, str]:
        """What decides whether it can be routed: exchange and routing key."""
        return self.exchange, self.routing_key

    @property
    def identity(self) -> Identity:
        """What no other message under way has; each try of this one has the same.

        Copies for several subscribers share the event's id.
        """
        return identity_of(self.exchange, self.routing_key, self.message_id, self.headers)


def identity_of(
    exchange: str, routing_key: str, message_id: str, headers: Mapping[str, object]
) -> Identity:
    """Return what tells a message from all others; see ``OutgoingMessage``."""
    return exchange, routing_key, message_id, headers.get(SUBSCRIBER_HEADER)


def checked_exchange(name: str) -> str:
    """Return a name that an exchange of ours may have; ``broker_rule`` of a topic resolver.

    Raises:
        ValueError: It may not have it; names the rule.
    """
    if not name or not name.isprintable() or name.startswith(_RESERVED):
        raise ValueError(
            f"exchange {name!r}: printable text, not empty, that does not begin with {_RESERVED!r}"
        )
    if len(name.encode(errors="replace")) > LONGEST_NAME_BYTES:
        raise ValueError(f"exchange {name!r}: at most {LONGEST_NAME_BYTES} bytes")
    return name
