"""Port: what a transaction tells whoever pushes its events right after the commit."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from pragmatic_ddd.ports import Reservation, StoredMessage


class IEagerPath(Protocol):
    """The part of ``EagerOutboxPublisher`` that a transaction needs."""

    @abstractmethod
    def reserve(self, count: int) -> Reservation | None:
        """Reserve room for rows that are about to be inserted; ``None`` when there is none."""

    @abstractmethod
    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        """Push what has been committed; never raises."""

    @abstractmethod
    def cancel(self, reservation: Reservation) -> None:
        """Give up a reservation whose transaction ended without a commit; never raises."""
