"""A message as it came out of a queue, and what it says by the names of CloudEvents."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import attrs

from pragmatic_ddd.application.events.wire_attributes import (
    CONSUMERGROUP,
    DATACONTENTTYPE,
    ID,
    SUBJECT,
    SUBSCRIBER,
    TYPE,
)
from pragmatic_ddd_rabbitmq.outgoing_message import PREFIX
from pragmatic_ddd_rabbitmq.unreadable_properties import UNREADABLE

_PREFIXES: Final = (PREFIX, "cloudEvents:")  # the specification allows both
_DELIVERY_COUNT: Final = "x-delivery-count"  # of quorum queues


@attrs.frozen(kw_only=True)
class ReceivedMessage:
    """A received message.

    Attributes:
        queue: Where it came from.
        session: Number of the consumer's connection; its tag means nothing on another one.
        delivery_tag: Its number on that connection's channel.
        is_first: Whether it was the first message of that connection.
        exchange: Where it was published.
        routing_key: With which key.
        body: Its content.
        headers: What came beside the body, as it came.
        attributes: Those of CloudEvents, by their plain names, in text.
        message_id: The property of that name; may be empty.
        content_type: The same.
        returns: How often it came back to the queue without being settled, if the queue counts.
    """

    queue: str
    session: int
    delivery_tag: int
    is_first: bool = False
    exchange: str = ""
    routing_key: str = ""
    body: bytes = attrs.field(repr=False)
    headers: Mapping[str, object] = attrs.field(factory=dict, repr=False)
    attributes: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    message_id: str = ""
    content_type: str = ""
    returns: int = 0

    @property
    def unreadable(self) -> str:
        """Why its properties, and with them its headers, cannot be read; empty if they can."""
        return text_of(self.headers.get(UNREADABLE, ""))

    @property
    def event_type(self) -> str:
        """The attribute ``type``; empty where it has none."""
        return self.attributes.get(TYPE, "")

    @property
    def key(self) -> str:
        """What identifies it over its tries in this process; copies share the event's id."""
        said = self.attributes
        if ID not in said:
            return f"{self.queue} {self.session} {self.delivery_tag}"
        return f"{said[ID]} {said.get(SUBSCRIBER, '')} {said.get(CONSUMERGROUP, '')}"

    @property
    def lane(self) -> str:
        """What it is kept in order with: its aggregate; empty where it names none."""
        return self.attributes.get(SUBJECT, "")

    def __str__(self) -> str:
        name = self.attributes.get(ID) or self.message_id or "without an id"
        return f"message {name} from queue {self.queue} (delivery tag {self.delivery_tag})"


def received(message: Any, *, queue: str, session: int, is_first: bool) -> ReceivedMessage:  # noqa: ANN401
    """Return what the client's message says.

    Args:
        message: A message of py-amqp.
        queue: Where it came from.
        session: Number of the connection.
        is_first: Whether it is the first message of that connection.
    """
    properties = message.properties
    headers = {
        text_of(name): value
        for name, value in (properties.get("application_headers") or {}).items()
    }
    content_type = str(properties.get("content_type", ""))
    body = message.body
    return ReceivedMessage(
        queue=queue,
        session=session,
        delivery_tag=message.delivery_info["delivery_tag"],
        is_first=is_first,
        exchange=message.delivery_info["exchange"],
        routing_key=message.delivery_info["routing_key"],
        body=body if isinstance(body, bytes) else str(body).encode(),
        headers=headers,
        attributes=_attributes(headers, content_type),
        message_id=str(properties.get("message_id", "")),
        content_type=content_type,
        returns=_whole_number(headers.get(_DELIVERY_COUNT)),
    )


def text_of(value: object) -> str:
    """Return a header's value as text, as CloudEvents writes values of its types."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return f"{value.isoformat()}Z"  # without a zone, in UTC
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _attributes(headers: Mapping[str, object], content_type: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, value in headers.items():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and value is not None:
                attributes[name.removeprefix(prefix)] = text_of(value)
    if content_type:
        attributes[DATACONTENTTYPE] = content_type
    return attributes


def _whole_number(value: object) -> int:
    return value if isinstance(value, int) else 0
