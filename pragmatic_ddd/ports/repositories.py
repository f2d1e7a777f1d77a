"""Port: where aggregates of one type are kept."""

from abc import abstractmethod
from typing import Protocol, TypeVar

from pragmatic_ddd.domain.aggregate import AggregateRoot

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


class IRepository(Protocol[AggregateT]):
    """Finds and saves aggregates of one type, inside the caller's transaction."""

    @abstractmethod
    def find_by_id(self, aggregate_id: object) -> AggregateT | None:
        """Return the aggregate, or ``None`` where there is none."""

    @abstractmethod
    def save(self, aggregate: AggregateT) -> None:
        """Insert a new aggregate or update a loaded one, and raise its ``version`` by one.

        The write is conditional on the version that was loaded, also when no value changed:
        this is what puts the events of one aggregate in order.

        Raises:
            ConcurrencyError: The stored version is another one; nothing was written.
        """
