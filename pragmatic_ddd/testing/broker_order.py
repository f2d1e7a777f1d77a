"""Contract of a broker's event manager, the part about order: within an aggregate, always."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    IBrokerUnderTest,
    Stored,
    parcels,
)
from pragmatic_ddd.testing.event_manager_binding import ParcelSent
from pragmatic_ddd.testing.parcel_desk import ParcelDesk, first_times


class BrokerOrderContract(BrokerBinding):
    """No event of an aggregate is handled before an older one of it, or beside it.

    After a member of the group has come or gone an event may be handled once more, so that only
    the first time of each counts.
    """

    def test_the_events_of_an_aggregate_arrive_in_order(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        """From four threads, of which no two publish events of the same aggregate."""
        desk = self._desk(manager)
        manager.start()
        shares = [[f"p-{number}" for number in range(first, 12, 4)] for first in range(4)]

        def publish(aggregates: Sequence[str]) -> None:
            for batch in zip(*(parcels(of, 15) for of in aggregates), strict=True):
                for event in batch:
                    manager.publish_stored(stored(event))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(publish, shares))

        desk.done.wait_for(12 * 15, self._seconds)
        for share in shares:
            for of in share:
                assert desk.numbers_done(of) == list(range(15))
        assert not desk.overlaps

    def test_no_event_overtakes_one_that_fails(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        desk = self._desk(manager)
        aggregates = ("p-1", "p-2", "p-3")
        events = {of: parcels(of, 4) for of in aggregates}
        desk.fail(events["p-1"][0], times=self.attempts - 1)
        desk.fail(events["p-2"][2], times=1)
        manager.start()

        self._publish_in_turns(manager, stored, events.values())

        desk.done.wait_for(12, self._seconds)
        assert all(desk.numbers_done(of) == [0, 1, 2, 3] for of in aggregates)
        assert desk.numbers_tried("p-1") == [0] * self.attempts + [1, 2, 3]
        assert desk.numbers_tried("p-2") == [0, 1, 2, 2, 3]
        assert not desk.overlaps

    def test_the_others_go_on_behind_a_dead_letter(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        desk = self._desk(manager)
        events = parcels("p-1", 4)
        desk.fail(events[1], times=self.attempts)
        manager.start()

        self._publish_in_turns(manager, stored, [events])

        desk.done.wait_for(3, self._seconds)
        assert desk.numbers_tried("p-1") == [0] + [1] * self.attempts + [2, 3]

    def test_order_survives_members_that_come_and_go(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        self._only_where_members_hand_over()
        desk = ParcelDesk()
        aggregates = [f"p-{number}" for number in range(8)]
        events = {of: parcels(of, 30) for of in aggregates}
        first, second, third = (broker.manager() for _ in range(3))
        for each in (first, second, third):
            each.register_subscriber("desk", ParcelSent, desk.handle)
        publisher = broker.manager()
        publisher.start()

        def publish(start: int) -> None:
            ten = [events[of][start : start + 10] for of in aggregates]
            self._publish_in_turns(publisher, stored, ten)

        first.start()
        publish(0)
        second.start()
        publish(10)
        first.shutdown()
        third.start()
        publish(20)

        self._wait_until(
            lambda: all(len(first_times(desk.numbers_done(of))) == 30 for of in aggregates),
            lambda: {of: desk.numbers_done(of) for of in aggregates},
        )
        for of in aggregates:
            assert first_times(desk.numbers_done(of)) == list(range(30))
        assert not desk.overlaps

    def test_an_event_that_fails_is_not_overtaken_in_another_member(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        desk = ParcelDesk()
        events = {of: parcels(of, 5) for of in ("p-1", "p-2", "p-3", "p-4")}
        members = [broker.manager(), broker.manager()]
        for member in members:
            member.register_subscriber("desk", ParcelSent, desk.handle)
            member.start()
        for each in events.values():
            desk.fail(each[0], times=self.attempts - 1)

        self._publish_in_turns(members[0], stored, events.values())

        self._wait_until(
            lambda: all(len(first_times(desk.numbers_done(of))) == 5 for of in events),
            lambda: {of: desk.numbers_done(of) for of in events},
        )
        for of in events:
            assert first_times(desk.numbers_done(of)) == [0, 1, 2, 3, 4]
        assert not desk.overlaps

    def _desk(self, manager: IEventManager) -> ParcelDesk:
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        return desk

    def _publish_in_turns(
        self, manager: IEventManager, stored: Stored, events: Iterable[Sequence[ParcelSent]]
    ) -> None:
        """Publish the first event of each aggregate, then the second of each, and so on."""
        for batch in zip(*events, strict=True):
            for event in batch:
                manager.publish_stored(stored(event))
