"""Contract of a broker's event manager, the part about subscribers: who is called, and when."""

import datetime as dt
import time

import pytest

from pragmatic_ddd.ports import Delivery, IEventManager
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    IBrokerUnderTest,
    Stored,
    parcels,
)
from pragmatic_ddd.testing.event_manager_binding import ParcelLost, ParcelSent, a_parcel
from pragmatic_ddd.testing.parcel_desk import ParcelDesk
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls

# By which a delay may seem shorter than it is: brokers and this process have different clocks.
_TOLERANCE = dt.timedelta(milliseconds=100)


class BrokerSubscribingContract(BrokerBinding):
    """Delays, addressed copies, and handlers that do more than to return."""

    def test_a_delayed_subscriber_is_called_later_and_blocks_nobody(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        delay = self._delay()
        moments: dict[str, float] = {}

        def note(code: str, event: ParcelSent) -> None:
            moments[f"{code} {event.number}"] = time.monotonic()
            calls.add(code, event)

        manager.register_subscriber("at once", ParcelSent, lambda event: note("at once", event))
        manager.register_subscriber(
            "later", ParcelSent, lambda event: note("later", event), delivery=Delivery.DELAYED
        )
        manager.register_subscriber(
            "then", ParcelSent, lambda event: note("then", event), depends_on=["later"]
        )
        manager.start()

        for event in parcels("p-1", 2):
            manager.publish_stored(stored(event))

        found = [code for code, _ in self._wait(calls, 6)]
        assert found[:2] == ["at once", "at once"]
        assert sorted(found[2:]) == ["later", "later", "then", "then"]
        for number in (0, 1):
            waited = moments[f"later {number}"] - moments[f"at once {number}"]
            assert waited >= (delay - _TOLERANCE).total_seconds()
            assert moments[f"then {number}"] >= moments[f"later {number}"]

    def test_a_delayed_subscriber_is_tried_again_and_nobody_else_is(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._delay()
        desk = ParcelDesk()
        event = a_parcel(7)
        desk.fail(event, times=self.attempts - 1)
        self._subscribe(manager, calls, "at once")
        manager.register_subscriber("desk", ParcelSent, desk.handle, delivery=Delivery.DELAYED)
        self._subscribe(manager, calls, "then", depends_on=["desk"])
        manager.start()

        manager.publish_stored(stored(event))

        assert [code for code, _ in self._wait(calls, 2)] == ["at once", "then"]
        manager.shutdown()
        assert [code for code, _ in calls.so_far()] == ["at once", "then"]

    def test_a_delayed_copy_is_for_its_own_group(
        self, broker: IBrokerUnderTest, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._delay()
        ours, others = broker.manager(), broker.manager(group=f"{broker.group}-other")
        ours.register_subscriber(
            "desk", ParcelSent, lambda event: calls.add("ours", event), delivery=Delivery.DELAYED
        )
        others.register_subscriber("desk", ParcelSent, lambda event: calls.add("others", event))
        for member in (ours, others):
            member.start()

        ours.publish_stored(stored(a_parcel()))

        assert [code for code, _ in self._wait(calls, 2)] == ["others", "ours"]
        for member in (ours, others):
            member.shutdown()
        assert [code for code, _ in calls.so_far()] == ["others", "ours"]

    def test_what_is_meant_for_a_subscriber_elsewhere_is_passed_over(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "pick")
        manager.start()

        manager.publish(a_parcel(1), subscriber="another service's")
        manager.publish(a_parcel(2))

        self._wait(calls, 1)
        assert [getattr(event, "number", None) for _, event in calls.so_far()] == [2]

    def test_a_handler_may_publish(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        def search(event: ParcelSent) -> None:
            manager.publish(ParcelLost(aggregate_id=event.aggregate_id))

        manager.register_subscriber("search", ParcelSent, search)
        manager.register_subscriber("lost", ParcelLost, lambda event: calls.add("lost", event))
        manager.start()

        manager.publish_stored(stored(a_parcel()))

        ((_, event),) = self._wait(calls, 1)
        assert event.aggregate_id == "p-1"

    def test_a_condition_that_raises_an_error_is_a_failure(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        asked: list[int] = []

        def answer_the_second_time(event: ParcelSent) -> bool:
            asked.append(event.number)
            if len(asked) == 1:
                raise LookupError("no answer yet")
            return True

        manager.register_subscriber(
            "desk",
            ParcelSent,
            lambda event: calls.add("desk", event),
            condition=answer_the_second_time,
        )
        manager.start()

        manager.publish_stored(stored(a_parcel(7)))

        self._wait(calls, 1)
        assert asked == [7, 7]

    def _delay(self) -> dt.timedelta:
        if self.delay is None:
            pytest.skip("these event managers have no delayed delivery")
        return self.delay
