"""Contract of a broker's event manager, the part about its end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd.testing.broker_binding import BrokerBinding, IBrokerUnderTest, Stored, parcels
from pragmatic_ddd.testing.event_manager_binding import ParcelSent
from pragmatic_ddd.testing.parcel_desk import ParcelDesk, first_times
from pragmatic_ddd.testing.slow_desk import SlowDesk
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls


class BrokerLifeContract(BrokerBinding):
    """Nothing is lost when an event manager ends, and its successor goes on."""

    def test_a_shutdown_waits_for_the_handler_at_work_and_leaves_the_rest(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        slow, desk = SlowDesk(), ParcelDesk()
        leaving = broker.manager()
        leaving.register_subscriber("desk", ParcelSent, slow.handle)
        leaving.start()
        for event in parcels("p-1", 20):
            leaving.publish_stored(stored(event))
        slow.begun.wait_for(1, self._seconds)

        with _beside(leaving.shutdown):
            slow.go_on.set()

        done = _numbers(slow.done)
        assert done[:1] == [0]
        assert _numbers(slow.begun) == done
        self._only_where_members_hand_over()
        self._joined(broker, desk)
        rest = list(range(len(done), 20))
        desk.done.wait_for(len(rest), self._seconds)
        assert desk.numbers_tried("p-1") == rest

    def test_what_a_shutdown_could_not_wait_for_comes_again(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        self._only_where_members_hand_over()
        slow, desk = SlowDesk(), ParcelDesk()
        leaving = broker.manager()
        leaving.register_subscriber("desk", ParcelSent, slow.handle)
        leaving.start()
        try:
            for event in parcels("p-1", 2):
                leaving.publish_stored(stored(event))
            slow.begun.wait_for(1, self._seconds)

            leaving.shutdown()

            self._joined(broker, desk)
            desk.done.wait_for(2, self._seconds)
        finally:
            slow.go_on.set()
        assert first_times(desk.numbers_done("p-1")) == [0, 1]

    def _joined(self, broker: IBrokerUnderTest, desk: ParcelDesk) -> IEventManager:
        """Return another member of the group, at work."""
        member = broker.manager()
        member.register_subscriber("desk", ParcelSent, desk.handle)
        member.start()
        return member


def _numbers(calls: SubscriberCalls) -> list[int]:
    return [event.number for _, event in calls.so_far() if isinstance(event, ParcelSent)]


@contextmanager
def _beside(work: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread while the block runs, and wait for its end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()
