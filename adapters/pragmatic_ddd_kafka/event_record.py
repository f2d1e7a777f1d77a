"""Events as records of Kafka, and back: CloudEvents in binary mode.

value           the stored payload, byte for byte
key             the aggregate's id: its events share a partition, in order
content-type    the attribute ``datacontenttype``
ce_...          the other attributes of the wire format, one header each
"""

from typing import Final

from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    ReceivedEvent,
    attributes_of,
    received_event,
)
from pragmatic_ddd.application.events.wire_attributes import (
    ATTRIBUTES,
    DATACONTENTTYPE,
    DEFAULT_SOURCE,
    TYPE,
)
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_kafka.errors import RefusedMessageError
from pragmatic_ddd_kafka.record import OutgoingRecord, ReceivedRecord

PREFIX: Final = "ce_"
CONTENT_TYPE: Final = "content-type"

_HEADER_OF: Final = {name: PREFIX + name for name in ATTRIBUTES} | {DATACONTENTTYPE: CONTENT_TYPE}
_ATTRIBUTE_OF: Final = {header: name for name, header in _HEADER_OF.items()}


def outgoing(
    message: OutboxMessage,
    topic: str,
    addressee: Addressee = EVERYBODY,
    *,
    source: str = DEFAULT_SOURCE,
) -> OutgoingRecord:
    """Return the record for an event.

    Args:
        message: The event as it was stored.
        topic: Where it goes.
        addressee: Whom it is for.
        source: Who sends it: a URI reference.

    Raises:
        RefusedMessageError: A text in it cannot be written in UTF-8.
    """
    attributes = attributes_of(message, addressee, source=source)
    try:
        return OutgoingRecord(
            topic=topic,
            key=message.aggregate_id.encode(),
            value=message.payload,
            headers=[(_HEADER_OF[name], value.encode()) for name, value in attributes.items()],
        )
    except UnicodeEncodeError as error:
        raise RefusedMessageError(
            f"{error.object!r}: half a surrogate is no character, and cannot be sent"
        ) from error


def event_type_of(record: ReceivedRecord) -> str:
    """Return the stable name of the event in a record; empty where it is no event.

    Raises:
        EventDeserializationError: Whether it is one cannot be read, ever.
    """
    if record.flaw is not None:
        raise EventDeserializationError("", "headers", f"record {record.where}: {record.flaw}")
    wanted = _HEADER_OF[TYPE]
    values = [value for name, value in record.headers if name == wanted and value]
    return values[-1].decode(errors="replace") if values else ""


def received(record: ReceivedRecord) -> ReceivedEvent:
    """Return what a record says of the event in it; of headers that come twice the last counts.

    Raises:
        EventDeserializationError: A header does not say what it should, or there is no value.
    """
    attributes: dict[str, str] = {}
    for header, value in record.headers:
        name = _ATTRIBUTE_OF.get(header)
        if name is not None and value is not None:
            attributes[name] = _text(record, header, value)
    return received_event(
        attributes, record.value or b"", where=f"record {record.where}", topic=record.topic
    )


def _text(record: ReceivedRecord, header: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        reason = f"record {record.where}: no UTF-8: {error}"
        raise EventDeserializationError(
            event_type_of(record), f"headers[{header!r}]", reason
        ) from error
