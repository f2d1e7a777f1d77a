"""Events as entries of a stream, and back: what is in which field.

data          the event's JSON, byte for byte
ce_<name>     the attributes of the event, in the names of CloudEvents, as text in UTF-8
"""

from collections.abc import Mapping
from typing import Final

import attrs

from pragmatic_ddd.application.events import Addressee, ReceivedEvent, attributes_of, received_event
from pragmatic_ddd.application.events.wire_attributes import ATTRIBUTES, TYPE
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_redis.errors import RefusedEventError

PREFIX: Final = "ce_"
DATA: Final = b"data"

_FIELDS: Final = {name: f"{PREFIX}{name}".encode() for name in ATTRIBUTES}


@attrs.frozen(kw_only=True)
class StreamEntry:
    """An entry as it was read.

    Attributes:
        stream: Its stream.
        id: Its id there.
        fields: What it holds; ``None`` where it was deleted before it was handled.
    """

    stream: str
    id: bytes
    fields: Mapping[bytes, bytes] | None = attrs.field(repr=False)

    def __str__(self) -> str:
        return f"entry {self.id.decode()} of {self.stream}"

    @property
    def event_type(self) -> str:
        """The attribute ``type``; empty where the entry has none."""
        return self._text(_FIELDS[TYPE])

    def event(self, topic: str) -> ReceivedEvent:
        """Return what the entry says of the event in it.

        Raises:
            EventDeserializationError: It does not say what it should.
        """
        fields = self.fields or {}
        attributes = {name: self._text(field) for name, field in _FIELDS.items() if field in fields}
        return received_event(attributes, fields.get(DATA, b""), where=str(self), topic=topic)

    def _text(self, field: bytes) -> str:
        return (self.fields or {}).get(field, b"").decode(errors="replace")


def fields_of(message: OutboxMessage, addressee: Addressee, *, source: str) -> list[bytes]:
    """Return the fields for an event: name, value, name, value, and so on.

    Raises:
        RefusedEventError: A text holds half a surrogate, which no bytes can say.
    """
    fields: list[bytes] = []
    for name, value in attributes_of(message, addressee, source=source).items():
        try:
            fields += (_FIELDS[name], value.encode())
        except UnicodeEncodeError as error:
            raise RefusedEventError(f"{name}: {value!r} holds half a surrogate") from error
    fields += (DATA, message.payload)
    return fields
