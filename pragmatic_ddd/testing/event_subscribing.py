"""Contract of ``IEventManager``, the part that registers: conditions, order, and mistakes."""

import pytest

from pragmatic_ddd.errors import SubscriptionError
from pragmatic_ddd.ports import Delivery, IEventManager
from pragmatic_ddd.testing.event_manager_binding import (
    EventManagerBinding,
    ParcelLost,
    ParcelSent,
    Stored,
    a_parcel,
)
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls


class EventSubscribingContract(EventManagerBinding):
    """When a subscriber is called, and which ones are refused."""

    def test_a_condition_decides_for_each_event(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        manager.register_subscriber(
            "odd",
            ParcelSent,
            lambda event: calls.add("odd", event),
            condition=lambda event: event.number % 2 == 1,
        )
        manager.start()

        for number in range(5):
            manager.publish_stored(stored(a_parcel(number)))

        self._wait(calls, 2)
        manager.shutdown()
        numbers = [event.number for _, event in calls.so_far() if isinstance(event, ParcelSent)]
        assert numbers == [1, 3]

    def test_a_successor_is_called_after_its_predecessors(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "ship", depends_on=["pay", "pick"])
        self._subscribe(manager, calls, "pick")
        self._subscribe(manager, calls, "pay", depends_on=["pick"])
        manager.start()

        manager.publish_stored(stored(a_parcel()))

        assert [code for code, _ in self._wait(calls, 3)] == ["pick", "pay", "ship"]

    def test_a_successor_of_one_that_did_not_want_the_event_is_called(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        manager.register_subscriber(
            "never", ParcelSent, lambda event: calls.add("never", event), condition=lambda _: False
        )
        self._subscribe(manager, calls, "after", depends_on=["never"])
        manager.start()

        manager.publish_stored(stored(a_parcel()))

        assert [code for code, _ in self._wait(calls, 1)] == ["after"]

    def test_a_delayed_subscriber_is_called(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        manager.register_subscriber(
            "later",
            ParcelSent,
            lambda event: calls.add("later", event),
            delivery=Delivery.DELAYED,
        )
        manager.start()

        manager.publish_stored(stored(a_parcel()))

        assert [code for code, _ in self._wait(calls, 1)] == ["later"]

    def test_a_code_is_taken_once_for_an_event(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "stock")
        manager.register_subscriber("stock", ParcelLost, lambda event: calls.add("stock", event))

        with pytest.raises(SubscriptionError, match="stock"):
            self._subscribe(manager, calls, "stock")

    def test_subscribers_that_would_wait_for_each_other_are_refused(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "a", depends_on=["b"])
        self._subscribe(manager, calls, "b", depends_on=["c"])

        for code, waits_for in (("c", "a"), ("d", "d")):
            with pytest.raises(SubscriptionError, match=f"'?{code}"):
                self._subscribe(manager, calls, code, depends_on=[waits_for])

        assert [one.code for one in manager.subscribers()[ParcelSent.event_type]] == ["a", "b"]

    def test_a_subscriber_that_waits_for_nobody_known_stops_the_start(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "ship", depends_on=["pick"])

        with pytest.raises(SubscriptionError, match="pick"):
            manager.start()

        self._subscribe(manager, calls, "pick")
        manager.start()

    def test_nobody_can_subscribe_after_the_start(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        manager.start()

        with pytest.raises(SubscriptionError, match="started"):
            self._subscribe(manager, calls, "late")

    def test_a_coroutine_function_is_no_handler(self, manager: IEventManager) -> None:
        async def handle(event: ParcelSent) -> None: ...

        with pytest.raises(SubscriptionError, match="await"):
            manager.register_subscriber("stock", ParcelSent, handle)  # type: ignore[arg-type]  # the mistake

    def test_subscribers_and_their_dependencies_can_be_listed(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "pick")
        self._subscribe(manager, calls, "ship", depends_on=["pick", "pay"])
        self._subscribe(manager, calls, "pay", depends_on=["pick"])

        name = ParcelSent.event_type
        assert [one.code for one in manager.subscribers()[name]] == ["pick", "ship", "pay"]
        edges = {("pick", "ship"), ("pay", "ship"), ("pick", "pay")}
        assert set(manager.dependencies()[name]) == edges
