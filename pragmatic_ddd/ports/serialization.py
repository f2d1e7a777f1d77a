"""Port: events as bytes. One implementation serves eager path, relay and broker alike."""

from abc import abstractmethod
from typing import Protocol, runtime_checkable

from pragmatic_ddd.domain.events import DomainEvent


class IEventSerializer(Protocol):
    """Turns events into UTF-8 JSON and back, without loss. Safe to call from any thread.

    Implementations must pass ``EventSerializerContract``. Names are looked up in a registry:
    nothing that a message says is ever imported or executed.
    """

    @abstractmethod
    def serialize(self, event: DomainEvent) -> bytes:
        """Return the event as UTF-8 JSON without NUL bytes; it need not be registered.

        Raises:
            EventSerializationError: A value cannot be written so that it comes back equal and
                of the same type; names event and field.
        """

    @abstractmethod
    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        """Return the event that the payload holds, brought to its class's present version.

        Args:
            payload: What ``serialize`` returned, in this or an older version of the code.
            event_type: Stable name, or a former one.
            event_version: Schema version in which it was written.

        Raises:
            UnknownEventTypeError: The name is not registered, or the version is newer than the
                class; the same call may succeed after a deploy.
            EventDeserializationError: The payload is not that event; names event and field.
        """


@runtime_checkable
class IEventTypeCatalogue(Protocol):
    """What a serializer may be besides: one that says beforehand which events it can read.

    Then a subscriber of an event that it cannot read is refused at the start, and a name that
    nobody here knows is told from one that nobody wants. A serializer without it is trusted.
    Safe to call from any thread.
    """

    @abstractmethod
    def knows(self, event_type: str) -> bool:
        """Say whether events of a name can be read.

        Args:
            event_type: Stable name, or a former one.
        """
