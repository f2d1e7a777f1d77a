"""Port: the unit of work, one local transaction over aggregates and their events."""

from abc import abstractmethod
from types import TracebackType
from typing import Protocol, Self, TypeVar

from pragmatic_ddd.domain.aggregate import AggregateRoot

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


class IUnitOfWork(Protocol):
    """Loads aggregates, and stores them with their events: all of it, or nothing.

    Used by one thread, once: a second commit is an error. As a context manager it rolls back
    what was not committed. Implementations must pass ``UnitOfWorkContract``.
    """

    @abstractmethod
    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        """Return the aggregate with that id; the same instance each time.

        Raises:
            AggregateNotFoundError: There is none; the unit of work can still be used.
            TypeError: It is no class of aggregates, or one that is not mapped.
        """

    @abstractmethod
    def add(self, aggregate: AggregateRoot) -> None:
        """Have a new aggregate stored by ``commit``.

        Raises:
            TypeError: It is no aggregate, or its class is not mapped.
        """

    @abstractmethod
    def commit(self) -> None:
        """Store the aggregates and their events in one transaction, then announce the events.

        After it returns every event is in the outbox. Nothing that happens to the announcement
        reaches the caller: what is not pushed at once is the relay's.

        Raises:
            ConcurrencyError: Somebody else changed one of the aggregates; nothing was stored.
            EventSerializationError: An event holds a value that cannot be written; nothing was
                stored.
            OutboxStoreError: The database refused or could not be reached. Nothing was stored,
                unless the connection was lost during the commit itself: then it is unknown.
            UnitOfWorkError: It was committed, rolled back or closed before.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything. Events of loaded aggregates are dropped, those of new ones kept.

        A loaded aggregate's state reverts, and its events with it; a new one keeps its state
        and may be added to another unit of work. Does nothing when it has ended already.
        """

    @abstractmethod
    def __enter__(self) -> Self:
        """Return itself."""

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Roll back what was not committed, and give back the connection."""
