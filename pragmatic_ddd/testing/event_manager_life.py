"""Contract of ``IEventManager``, the part about its start and its shutdown."""

import datetime as dt

import pytest

from pragmatic_ddd.errors import EventPublishError, InfrastructureError
from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd.testing.event_manager_binding import EventManagerBinding, Stored, a_parcel
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls


class EventManagerLifeContract(EventManagerBinding):
    """It works between its start and its shutdown, and leaves nothing undone."""

    def test_nothing_is_published_before_the_start_or_after_the_shutdown(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "stock")
        self._refuses(manager, stored)

        manager.start()
        manager.shutdown()

        self._refuses(manager, stored)
        assert calls.so_far() == []

    def test_starting_and_shutting_down_twice_does_nothing_more(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        manager.start()
        manager.start()
        manager.publish_stored(stored(a_parcel()))

        manager.shutdown()
        manager.shutdown()

        with pytest.raises(InfrastructureError):
            manager.start()

    def test_shutdown_waits_for_what_was_taken_on(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._only_in_process("the broker keeps what consumers have not handled")
        self._subscribe(manager, calls, "pick")
        self._subscribe(manager, calls, "ship", depends_on=["pick"])
        manager.start()
        for number in range(50):
            manager.publish_stored(stored(a_parcel(number)))

        manager.shutdown()

        assert len(calls.so_far()) == 100

    def test_its_bounds_are_bounds(self, manager: IEventManager) -> None:
        assert manager.longest_call > dt.timedelta()
        assert manager.side_by_side >= 1

    def _refuses(self, manager: IEventManager, stored: Stored) -> None:
        with pytest.raises(EventPublishError):
            manager.publish(a_parcel())
        with pytest.raises(EventPublishError):
            manager.publish_stored(stored(a_parcel()))
