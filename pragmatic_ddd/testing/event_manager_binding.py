"""What an event manager has to provide for its contract, and the events that it carries."""

import datetime as dt
from collections.abc import Callable
from typing import ClassVar

import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.ports import IEventManager, OutboxMessage
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls

Stored = Callable[[DomainEvent], OutboxMessage]


class ParcelSent(DomainEvent, name="contract.parcel.sent"):
    """A parcel is on its way."""

    number: int = 0


class ParcelLost(DomainEvent, name="contract.parcel.lost"):
    """A parcel did not arrive."""


CONTRACT_EVENTS = (ParcelSent, ParcelLost)


def a_parcel(number: int = 0) -> ParcelSent:
    """Return an event that is equal to no other."""
    return ParcelSent(aggregate_id="p-1", number=number)


class EventManagerBinding:
    """Says what the event manager can do, and how its subscribers are watched.

    Attributes:
        works_in_process: Whether publishing a stored message means that the root subscribers
            of this process have succeeded; otherwise a broker has it, and consumers come later.
        patience: How long a subscriber may take to be called.
    """

    works_in_process: ClassVar[bool] = True
    patience: ClassVar[dt.timedelta] = dt.timedelta(seconds=10)

    @pytest.fixture
    def calls(self) -> SubscriberCalls:
        """What the subscribers of a test were called with."""
        return SubscriberCalls()

    def _subscribe(
        self,
        manager: IEventManager,
        calls: SubscriberCalls,
        code: str,
        *,
        depends_on: list[str] | None = None,
    ) -> None:
        manager.register_subscriber(
            code,
            ParcelSent,
            lambda event: calls.add(code, event),
            depends_on=depends_on or [],
        )

    def _wait(self, calls: SubscriberCalls, count: int) -> list[tuple[str, DomainEvent]]:
        return calls.wait_for(count, self.patience.total_seconds())

    def _only_in_process(self, why: str) -> None:
        if not self.works_in_process:
            pytest.skip(f"this event manager publishes to a broker: {why}")
