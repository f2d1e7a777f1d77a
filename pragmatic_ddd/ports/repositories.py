"""Port: where aggregates of one type are kept.

    find_by_id ──▶ the aggregate changes ──▶ save ──┬─ is_new ──▶ insert    version 1
                                                    └─ else ────▶ update    version + 1, if nobody
                                                                            else was faster

What is written conditionally is what puts the events of one aggregate in order.
"""

from abc import abstractmethod
from typing import Protocol, TypeVar

from pragmatic_ddd.domain.aggregate import AggregateRoot

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


class IRepository(Protocol[AggregateT]):
    """Finds, saves and removes aggregates of one type, inside the caller's transaction.

    Just before an aggregate is written, its ``trigger_data_sync_hook`` is called. After a
    ``ConcurrencyError`` the transaction can only be rolled back. Implementations must pass
    ``RepositoryContract``.
    """

    @abstractmethod
    def insert(self, aggregate: AggregateT) -> None:
        """Write a new aggregate, as version 1.

        Raises:
            ConcurrencyError: Its id is taken, and the store can tell; nothing was written.
            OutboxStoreError: The database refused it, as databases do when an id is taken;
                nothing was written.
            TypeError: It is none of this repository's type.
            UnitOfWorkError: It is not new; nothing was written.
        """

    @abstractmethod
    def update(self, aggregate: AggregateT) -> None:
        """Write a loaded aggregate, and raise its ``version`` by one, also when nothing changed.

        Raises:
            ConcurrencyError: The stored version is another one, or there is none any more;
                nothing was written.
            OutboxStoreError: The database refused it or failed; nothing was written.
            TypeError: It is none of this repository's type.
            UnitOfWorkError: It is new; nothing was written.
        """

    @abstractmethod
    def save(self, aggregate: AggregateT) -> None:
        """``insert`` the aggregate if it ``is_new``, else ``update`` it.

        Raises:
            ConcurrencyError: As those do.
            OutboxStoreError: As those do.
            TypeError: As those do.
        """

    @abstractmethod
    def find_by_id(self, aggregate_id: object) -> AggregateT | None:
        """Return the aggregate, or ``None`` where there is none.

        Raises:
            OutboxStoreError: The database failed.
        """

    @abstractmethod
    def remove(self, aggregate: AggregateT) -> None:
        """Delete a loaded aggregate, if the stored version is still the one that was loaded.

        Raises:
            ConcurrencyError: The stored version is another one, or there is none any more;
                nothing was deleted.
            OutboxStoreError: The database refused it or failed; nothing was deleted.
            TypeError: It is none of this repository's type.
            UnitOfWorkError: It is new, so there is nothing to delete.
        """

    @abstractmethod
    def exists_by_id(self, aggregate_id: object) -> bool:
        """Say whether there is an aggregate with that id, without loading it.

        Raises:
            OutboxStoreError: The database failed.
        """

    @abstractmethod
    def current_version(self, aggregate_id: object) -> int | None:
        """Return the version that is stored, as this transaction sees it; ``None``: there is none.

        Not that of a loaded instance, which may have been overtaken.

        Raises:
            OutboxStoreError: The database failed.
        """
