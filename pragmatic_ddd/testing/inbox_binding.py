"""What the contracts of inboxes are given, and the events that they have come."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.inbox import Arrival, IInbox

SUBSCRIBER = "contract.subscriber"


class IInboxUnderTest(Protocol):
    """An empty inbox, and a place for effects in the database to which handlers write."""

    @abstractmethod
    def inbox(self) -> IInbox[Any]:
        """Return an inbox; each call another object, with the memory of the others."""

    @abstractmethod
    def write(self, work: object, effect: str) -> None:
        """Write an effect in the transaction that a handler was given."""

    @abstractmethod
    def effects(self) -> Sequence[str]:
        """Return the effects that were committed, in the order in which they were written."""


def an_arrival(
    version: int = 1,
    *,
    of: str = "1",
    index: int = 0,
    epoch: int = 0,
    previous: EventPlace | None = BEFORE_ALL,
    subscriber: str = SUBSCRIBER,
    aggregate_type: str = "contract.order",
) -> Arrival:
    """Return an event as it comes to a subscriber: by default the first one of its aggregate."""
    place = EventPlace(epoch=epoch, version=version, index=index)
    return Arrival(
        subscriber=subscriber,
        message_id=f"{aggregate_type}-{of}-{epoch}-{place}",
        aggregate_type=aggregate_type,
        aggregate_id=of,
        place=place,
        previous=previous,
    )


def a_place(version: int, index: int = 0, *, epoch: int = 0) -> EventPlace:
    """Return a place."""
    return EventPlace(epoch=epoch, version=version, index=index)
