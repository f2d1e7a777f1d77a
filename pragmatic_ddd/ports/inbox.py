"""Port: the inbox, which remembers what a subscriber has handled, so that it is handled once.

    begin ── mark ──▶ handler(event, work) ──▶ commit: the mark and what the handler has written
               │            └── raises ──▶ rollback: neither
               └── there already ──▶ nothing: it was handled

An inbox is for one database: what a handler does elsewhere, no mark can make undone.
"""

import enum
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import attrs

from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.event_place import EventPlace

WorkT_co = TypeVar("WorkT_co", covariant=True)


@attrs.frozen(kw_only=True)
class Arrival:
    """An event that has come to a subscriber, as an inbox knows it.

    Attributes:
        subscriber: Whose memory it is about: unique in the inbox's database.
        message_id: The event's id, the same over every resend.
        aggregate_type: Stable name of the aggregate's class; empty where nobody says.
        aggregate_id: Identity of the aggregate.
        place: Its place in the aggregate's history; ``None`` where it has none.
        previous: The place of the aggregate's event before it, ``BEFORE_ALL`` where there is none;
            ``None`` where nobody says.
        unplaced_because: Why it has no place, for people.
    """

    subscriber: str
    message_id: str
    aggregate_type: str
    aggregate_id: str
    place: EventPlace | None = None
    previous: EventPlace | None = None
    unplaced_because: str = ""


class Handling(enum.Enum):
    """What an inbox has done with an event.

    Attributes:
        HANDLED: The handler was called; its writes and the mark are committed.
        REPEATED: It, or a later one of its aggregate, was handled before; nobody was called.
    """

    HANDLED = "handled"
    REPEATED = "repeated"


@attrs.frozen(kw_only=True)
class EventGap:
    """Events of an aggregate have not come before one that follows them. Nobody was called.

    Attributes:
        arrival: The one that has come; its ``previous`` is the last one that is missing.
        last: Place of the last one that was handled; ``None``: this subscriber has handled none.
    """

    arrival: Arrival
    last: EventPlace | None


class IInbox(Protocol[WorkT_co]):
    """Has each event handled once by each subscriber. Safe to call from any thread or process.

    Implementations must pass ``InboxContract``.
    """

    @abstractmethod
    def handle(
        self, arrival: Arrival, handler: Callable[[WorkT_co], object], *, past_gap: bool = False
    ) -> Handling | EventGap:
        """Call a handler in a transaction in which the event is marked, unless it is already.

        Of calls at the same time for one event, one calls its handler, and the others wait for
        its end. When this returns, the transaction has ended; when it raises, nothing is written
        and there is no mark, unless the connection was lost during the commit: then the next
        delivery finds out.

        Args:
            arrival: Which event, to which subscriber.
            handler: Given the transaction, which is neither its to commit nor to roll back.
            past_gap: Call it also where events before this one are missing; they will count as
                handled. Only where the inbox can tell.

        Returns:
            What was done; or, from an inbox that can tell, what is missing.

        Raises:
            ConcurrencyError: Somebody else was faster; have the event delivered again.
            OutboxStoreError: The database failed.
            UnitOfWorkError: The handler has ended the transaction; it was rolled back.
            UnplacedEventError: The inbox goes by places, and the event has none.
            Exception: Whatever the handler raises.
        """


@attrs.frozen(kw_only=True)
class GapDecision:
    """What to do about a gap.

    Attributes:
        missing: Events to handle first, of the same aggregate, in order.
        go_on: Whether to handle the event although some are missing after that.
    """

    missing: Sequence[DomainEvent] = ()
    go_on: bool = False


class IGapPolicy(Protocol):
    """Decides what becomes of an event before which others are missing."""

    @abstractmethod
    def decide(self, gap: EventGap) -> GapDecision:
        """Decide; called outside of any transaction, and again with each new delivery.

        Raises:
            Exception: It cannot decide now; the event is delivered again.
        """


class IInboxCache(Protocol):
    """Knows, quickly, of many events that were handled; may forget any of them at any time.

    It is told after the commit, so that what it knows is true as long as nobody takes a commit
    back. Implementations must pass ``InboxCacheContract``.
    """

    @abstractmethod
    def is_known(self, subscriber: str, message_id: str) -> bool:
        """Say whether that event was noted as handled by that subscriber.

        Raises:
            InfrastructureError: It cannot be asked.
        """

    @abstractmethod
    def note(self, subscriber: str, message_id: str) -> None:
        """Remember it, for as long as the cache remembers anything.

        Raises:
            InfrastructureError: It cannot be told.
        """
