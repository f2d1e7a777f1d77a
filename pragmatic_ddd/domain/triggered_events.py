"""The events that an aggregate has raised and that nobody has stored yet."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.domain.events import DomainEvent

EventFactory = Callable[[], DomainEvent]
EventsMark = tuple[DomainEvent | EventFactory, ...]


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
        """Remove and return all events; deferred ones are built now.

        Raises:
            Exception: Whatever a factory raises; then every event is still here.
        """
        drained = [item if isinstance(item, DomainEvent) else item() for item in self._items]
        self._items.clear()
        return drained

    def remove(self, event_type: type[DomainEvent]) -> int:
        """Remove the ready events of that class and its subclasses; return how many."""
        before = len(self._items)
        self._items = [item for item in self._items if not isinstance(item, event_type)]
        return before - len(self._items)

    def mark(self) -> EventsMark:
        """Return what to ``reset`` to if the transaction that drains the events fails."""
        return tuple(self._items)

    def reset(self, mark: EventsMark) -> None:
        """Go back to a mark: the events of a transaction that did not happen are raised again."""
        self._items = list(mark)

    def drop_first(self, count: int) -> None:
        """Drop the first ``count`` events: they are stored."""
        del self._items[:count]

    def cut_back(self, count: int) -> None:
        """Keep the first ``count`` events: what was raised after them never happened."""
        del self._items[count:]
