"""The events that an aggregate has raised and that nobody has stored yet."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.domain.events import DomainEvent

EventFactory = Callable[[], DomainEvent]


@attrs.define(eq=False)
class TriggeredEvents:
    """Raised events in the order in which they were raised, ready ones and deferred ones.

    A deferred event is a factory: it is called once, when the events are drained, because
    what it needs (an id that the database gives) does not exist before.
    """

    _items: list[DomainEvent | EventFactory] = attrs.field(factory=list, init=False)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, event: DomainEvent) -> None:
        """Append an event."""
        self._items.append(event)

    def add_later(self, factory: EventFactory) -> None:
        """Append an event that is built when the events are drained."""
        self._items.append(factory)

    def snapshot(self) -> tuple[DomainEvent, ...]:
        """Return the events that are ready, without the deferred ones; nothing is removed."""
        return tuple(item for item in self._items if isinstance(item, DomainEvent))

    def drain(self) -> list[DomainEvent]:
        """Remove and return all events; deferred ones are built now, each once.

        Raises:
            Exception: Whatever a factory raises; then every event is still here.
        """
        for position, item in enumerate(self._items):
            if not isinstance(item, DomainEvent):
                self._items[position] = item()
        drained = self.snapshot()
        self._items.clear()
        return list(drained)

    def remove(self, event_type: type[DomainEvent]) -> int:
        """Remove the ready events of that class and its subclasses; return how many."""
        before = len(self._items)
        self._items = [item for item in self._items if not isinstance(item, event_type)]
        return before - len(self._items)

    def cut_back(self, count: int) -> None:
        """Keep the first ``count`` events: what was raised after them never happened."""
        del self._items[count:]
