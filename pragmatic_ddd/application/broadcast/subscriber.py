"""Broadcasting: a subscriber that turns a domain event into a message for other systems.

events.register_subscriber("tell-others-of-paid-orders", OrderPaid, BroadcastSubscriber(…))

Behind an outbox that makes the message as safe as the event: it is sent until it is confirmed.
"""

import json
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import can_be_called, implements, in_words, of_type
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.names import is_name
from pragmatic_ddd.errors import BroadcastEnvelopeError
from pragmatic_ddd.ports.broadcast import AggregateMessageEnvelope, IBroadcastMessenger
from pragmatic_ddd.ports.message_headers import OPERATION_CODE

EventT = TypeVar("EventT", bound=DomainEvent)


@attrs.frozen(kw_only=True)
class BroadcastSubscriber(Generic[EventT]):
    """Sends one message for each event that it is called with, under the event's id.

    Attributes:
        messenger: Sends it.
        topic: Where the receivers expect it.
        message_type: Stable name of the message, part of the contract with them.
        message_version: Version of the payload's schema, from 1.
        aggregate_type: Stable name of the aggregate that the event is of.
        payload: The message's content: texts, whole numbers, booleans, ``None``, lists and
            mappings. Write an amount or a time as text, in the form that was agreed upon.
        headers: Further headers; the event's operation code is there anyway. Names that
            everybody means alike are in ``message_headers``: ``DATA_SCHEMA``, correlation, trace.
    """

    messenger: IBroadcastMessenger = attrs.field(validator=implements(IBroadcastMessenger))
    topic: str = attrs.field(validator=in_words())
    message_type: str = attrs.field(validator=is_name)
    message_version: int = attrs.field(default=1, validator=[of_type(int), validators.ge(1)])
    aggregate_type: str = attrs.field(validator=is_name)
    payload: Callable[[EventT], Mapping[str, object]] = attrs.field(validator=can_be_called())
    headers: Callable[[EventT], Mapping[str, str]] | None = attrs.field(
        default=None, validator=validators.optional(can_be_called())
    )

    def __call__(self, event: EventT) -> None:
        """Send the message.

        Raises:
            BroadcastEnvelopeError: The payload or a header is not as described; nothing was sent.
            BroadcastSendError: No confirmation; the event must come again.
        """
        self.messenger.send(self.topic, self.envelope(event))

    def envelope(self, event: EventT) -> AggregateMessageEnvelope:
        """Return the message for an event; the same one each time.

        Raises:
            BroadcastEnvelopeError: The payload or a header is not as described.
        """
        return AggregateMessageEnvelope(
            message_id=event.event_id,
            message_type=self.message_type,
            message_version=self.message_version,
            aggregate_type=self.aggregate_type,
            aggregate_id=event.aggregate_id,
            aggregate_version=event.aggregate_version or None,
            event_index=event.event_index,
            occurred_at=event.occurred_at,
            payload=self._json(event),
            headers=self._headers(event),
        )

    def _json(self, event: EventT) -> bytes:
        content = self.payload(event)
        try:
            if not isinstance(content, Mapping):
                raise TypeError("the payload is no mapping")  # noqa: TRY301  # like json's own
            text = json.dumps(
                dict(content), allow_nan=False, ensure_ascii=False, separators=(",", ":")
            )
            _refuse_what_json_changes("payload", content)
            return text.encode()
        except (TypeError, ValueError) as error:
            raise self._refusal(event, str(error)) from error

    def _headers(self, event: EventT) -> dict[str, str]:
        headers = {} if self.headers is None else self.headers(event)
        if not isinstance(headers, Mapping):
            raise self._refusal(event, "the headers are no mapping")
        for name, value in headers.items():
            if not all(isinstance(text, str) for text in (name, value)):
                raise self._refusal(event, f"the header {name!r}: name and value are text")
        if event.operation_code is not None:
            return {**headers, OPERATION_CODE: event.operation_code}
        return dict(headers)

    def _refusal(self, event: EventT, reason: str) -> BroadcastEnvelopeError:
        return BroadcastEnvelopeError(self.message_type, event.event_id, reason)


def _refuse_what_json_changes(where: str, value: object) -> None:
    """Refuse keys that JSON would turn into text, and numbers that are not exact."""
    match value:
        case float():
            raise TypeError(f"{where} = {value!r} is a float; write it as text")
        case Mapping():
            for key, item in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"the key {key!r} in {where} is no text")
                _refuse_what_json_changes(f"{where}.{key}", item)
        case list() | tuple():
            for position, item in enumerate(value):
                _refuse_what_json_changes(f"{where}[{position}]", item)
