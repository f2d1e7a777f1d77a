"""Port: messages for other systems, apart from the domain events of this one.

A domain event is ours to change. What others read is a contract with them: it has a name, a
version and a payload of its own, and goes to a topic that was agreed upon.
"""

import datetime as dt
import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import attrs
from attrs import validators

from pragmatic_ddd.domain.names import is_name
from pragmatic_ddd.ports.events import Receipt


def _aware(_: object, attribute: "attrs.Attribute[dt.datetime]", value: object) -> None:
    if not isinstance(value, dt.datetime) or value.utcoffset() is None:
        raise ValueError(f"{attribute.name} is {value!r}: a datetime with a time zone")


def _some_text(_: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{attribute.name} is {value!r}: text, not empty")


def _json(_: object, attribute: "attrs.Attribute[bytes]", value: object) -> None:
    if not isinstance(value, bytes):
        raise TypeError(f"{attribute.name}: JSON as UTF-8 in bytes, no {type(value).__name__}")
    try:
        json.loads(value.decode(), parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"{attribute.name}: JSON as UTF-8 in bytes; {error}") from error


def _no_constant(text: str) -> None:
    raise ValueError(f"JSON has no {text}")


def _copied_texts(headers: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(headers, Mapping):
        raise TypeError("headers: a mapping of text to text")
    for name, value in headers.items():
        if not all(isinstance(text, str) for text in (name, value)):
            raise TypeError(f"headers: {name!r}: name and value are text")
    return dict(headers)


def _from_zero(_: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{attribute.name} is {value!r}: a whole number, from 0")


def _from_one(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{attribute.name} is {value!r}: a whole number, from 1")


@attrs.frozen(kw_only=True)
class AggregateMessageEnvelope:
    """A message about an aggregate, with what a receiver must know before it reads the payload.

    Attributes:
        message_id: The same each time that it is sent; what a receiver deduplicates on.
        message_type: Stable name of what it says, such as ``shop.order-paid``.
        message_version: Version of the payload's schema, from 1.
        aggregate_type: Stable name of the aggregate's class.
        aggregate_id: Identity of the aggregate, as text; messages of one keep their order.
        aggregate_version: Version of the aggregate that it tells of: one who has seen a later one
            may drop it. ``None`` where the aggregate has none.
        event_index: Place among the events of that version, from 0.
        occurred_at: When it happened, with a time zone.
        payload: UTF-8 JSON in the words of the contract; exactly these bytes are sent.
        headers: Names and values in text: the operation, correlation, trace context. Copied.
    """

    message_id: str = attrs.field(validator=_some_text)
    message_type: str = attrs.field(validator=is_name)
    message_version: int = attrs.field(default=1, validator=_from_one)
    aggregate_type: str = attrs.field(validator=is_name)
    aggregate_id: str = attrs.field(validator=_some_text)
    aggregate_version: int | None = attrs.field(
        default=None, validator=validators.optional(_from_one)
    )
    event_index: int = attrs.field(default=0, validator=_from_zero)
    occurred_at: dt.datetime = attrs.field(validator=_aware)
    payload: bytes = attrs.field(validator=_json, repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict, converter=_copied_texts)


class IBroadcastMessenger(Protocol):
    """Sends messages to other systems. Safe to call from any thread.

    Implementations must pass ``BroadcastMessengerContract``.
    """

    @abstractmethod
    def send(self, topic: str, envelope: AggregateMessageEnvelope) -> Receipt:
        """Send a message; return when it is confirmed. One try: repeating is the caller's.

        Messages of one aggregate arrive in the order in which they were sent, if the next one
        is sent after the one before was confirmed.

        Args:
            topic: Where the receivers expect it; no ``ITopicResolver`` is asked.
            envelope: The message.

        Raises:
            ValueError: The topic is blank, or one that the broker cannot have; nothing was sent.
            BroadcastSendError: No confirmation; it may or may not have been delivered.
            BroadcastEnvelopeError: It cannot be sent, ever; it was not.
        """
