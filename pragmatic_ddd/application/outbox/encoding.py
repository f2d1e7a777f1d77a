"""Events as outbox messages, and back: the one place where one becomes the other.

An event is encoded once, when it is stored. The stored bytes are the bytes that are sent.
"""

from collections.abc import Callable, Iterable, Mapping

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import can_be_called, implements, of_type
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.timestamp import parsed_timestamp
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.names import checked_name
from pragmatic_ddd.errors import EventSerializationError
from pragmatic_ddd.ports.message_headers import OCCURRED_AT, OPERATION_CODE
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer

LONGEST_HEADER = 4096

HeaderSource = Callable[[], Mapping[str, str]]


def _no_headers() -> Mapping[str, str]:
    return {}


@attrs.frozen(kw_only=True)
class EventEncoding:
    """Turns events into messages and messages into events. Safe to share between threads.

    Attributes:
        serializer: The one serializer of the application.
        headers: Called for each stored event, in the thread that stores it: correlation and
            causation ids, trace context, tenant. What all parts of the framework mean alike has
            its names in ``pragmatic_ddd.ports.message_headers``.
        largest_payload_bytes: A larger payload is refused when it is stored. The default, 4 MiB
            less 64 KiB, is what RocketMQ and the default packet size of MySQL take.

    Raises:
        TypeError: Something else was given than is asked for.
    """

    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    headers: HeaderSource = attrs.field(default=_no_headers, validator=can_be_called())
    largest_payload_bytes: int = attrs.field(
        default=4 * 1024 * 1024 - 64 * 1024, validator=[of_type(int), validators.ge(1)]
    )

    def encode(self, event: DomainEvent, *, aggregate_type: str) -> OutboxMessage:
        """Return the message for an event that knows its place.

        Raises:
            EventSerializationError: A value cannot be written, a header is not short plain
                text, the one that says when the event occurred says no time, or the payload is
                too large; names event and field.
        """
        payload = self.serializer.serialize(event)
        if len(payload) > self.largest_payload_bytes:
            raise EventSerializationError(
                event.event_type,
                "",
                f"{len(payload)} bytes of JSON, at most {self.largest_payload_bytes} are sent",
            )
        return OutboxMessage(
            message_id=event.event_id,
            aggregate_type=checked_name(aggregate_type, "aggregate type"),
            aggregate_id=event.aggregate_id,
            aggregate_version=event.aggregate_version or None,
            event_index=event.event_index,
            event_type=event.event_type,
            event_version=event.event_version,
            payload=payload,
            headers=self._headers_of(event),
        )

    def encode_all(
        self, aggregate: AggregateRoot, events: Iterable[DomainEvent], *, version: int
    ) -> list[OutboxMessage]:
        """Return the messages for the events of one stored change of an aggregate.

        Args:
            aggregate: It has just been written in the open transaction.
            events: What it raised, in order.
            version: The version that this change gave it; 0 where it has none.

        Raises:
            EventSerializationError: As for ``encode``.
        """
        return [
            self.encode(event.placed_at(version, index), aggregate_type=aggregate.aggregate_name)
            for index, event in enumerate(events)
        ]

    def decode(self, message: OutboxMessage) -> DomainEvent:
        """Return the event that a message holds.

        Raises:
            UnknownEventTypeError: Its name or version is not known here (yet).
            EventDeserializationError: Its payload cannot be read, ever.
        """
        event = self.serializer.deserialize(
            message.payload, event_type=message.event_type, event_version=message.event_version
        )
        return with_origin(event, message)

    def _headers_of(self, event: DomainEvent) -> dict[str, str]:
        headers = dict(self.headers())
        if event.operation_code is not None:
            headers[OPERATION_CODE] = event.operation_code
        for name, value in headers.items():
            for text in (name, value):
                if not _is_short_text(text):
                    raise EventSerializationError(
                        event.event_type,
                        f"headers[{name!r}]",
                        f"{text!r}: printable text of at most {LONGEST_HEADER} characters",
                    )
        if OCCURRED_AT in headers:
            _check_occurred_at(event, headers[OCCURRED_AT])
        return headers


def _is_short_text(text: object) -> bool:
    return isinstance(text, str) and len(text) <= LONGEST_HEADER and text.isprintable()


def _check_occurred_at(event: DomainEvent, text: str) -> None:
    try:
        parsed_timestamp(text)
    except ValueError as error:
        raise EventSerializationError(
            event.event_type, f"headers[{OCCURRED_AT!r}]", str(error)
        ) from error
