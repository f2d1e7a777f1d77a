"""Contract of ``IEventManager``: subclass it, provide two fixtures, run pytest.

    class TestMine(EventManagerContract):
        @pytest.fixture
        def manager(self) -> IEventManager: ...            # new, not started; shut it down after

        @pytest.fixture
        def stored(self) -> Callable[[DomainEvent], OutboxMessage]: ...

``stored`` encodes as the application does. Register ``CONTRACT_EVENTS`` with the serializer.
"""

from pragmatic_ddd.testing.event_manager_binding import (
    CONTRACT_EVENTS,
    ParcelLost,
    ParcelSent,
    Stored,
    a_parcel,
)
from pragmatic_ddd.testing.event_manager_life import EventManagerLifeContract
from pragmatic_ddd.testing.event_publishing import EventPublishingContract
from pragmatic_ddd.testing.event_subscribing import EventSubscribingContract

__all__ = [
    "CONTRACT_EVENTS",
    "EventManagerContract",
    "ParcelLost",
    "ParcelSent",
    "Stored",
    "a_parcel",
]


class EventManagerContract(
    EventPublishingContract, EventSubscribingContract, EventManagerLifeContract
):
    """What every event manager promises: publishing, subscribing, its start and its shutdown.

    Attributes:
        works_in_process: Whether publishing a stored message means that the root subscribers
            of this process have succeeded; otherwise a broker has it, and consumers come later.
        patience: How long a subscriber may take to be called.
    """
