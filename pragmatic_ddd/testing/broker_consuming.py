"""Contract of a broker's event manager, the part that consumes: tried again, then a dead letter."""

import attrs
import pytest

from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    IBrokerUnderTest,
    Stored,
    parcels,
)
from pragmatic_ddd.testing.event_manager_binding import ParcelSent, a_parcel
from pragmatic_ddd.testing.parcel_desk import ParcelDesk
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls
from pragmatic_ddd.testing.told_metrics import ToldMetrics

_SENT = ParcelSent.event_type


class BrokerConsumingContract(BrokerBinding):
    """What becomes of an event that fails, of one that cannot be read, and of what is no event."""

    def test_an_event_is_tried_again_until_it_succeeds(
        self, broker: IBrokerUnderTest, stored: Stored, metrics: ToldMetrics
    ) -> None:
        desk = ParcelDesk()
        event = a_parcel(7)
        desk.fail(event, times=self.attempts - 1)
        manager = broker.manager(metrics=metrics)
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        manager.publish_stored(stored(event))

        desk.done.wait_for(1, self._seconds)
        assert metrics.wait_for("consumed", 1, self._seconds) == [(_SENT, "desk")]
        failed = metrics.so_far("consume_failed")
        assert failed == [(_SENT, "desk", False)] * (self.attempts - 1)
        assert not broker.dead_letters()

    def test_who_has_succeeded_is_not_called_again_because_another_one_failed(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        desk = ParcelDesk()
        event = a_parcel(7)
        desk.fail(event, times=1)
        self._subscribe(manager, calls, "steady")
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        self._subscribe(manager, calls, "after", depends_on=["desk"])
        manager.start()

        manager.publish_stored(stored(event))

        assert [code for code, _ in self._wait(calls, 2)] == ["steady", "after"]
        manager.shutdown()
        assert [code for code, _ in calls.so_far()] == ["steady", "after"]

    def test_an_event_that_keeps_failing_becomes_a_dead_letter(
        self, broker: IBrokerUnderTest, stored: Stored, metrics: ToldMetrics
    ) -> None:
        desk = ParcelDesk()
        dead, well = parcels("p-1", 2)
        desk.fail(dead, times=1000)
        manager = broker.manager(metrics=metrics)
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        message = stored(dead)
        manager.publish_stored(message)
        manager.publish_stored(stored(well))

        desk.done.wait_for(1, self._seconds)
        (letter,) = broker.dead_letters()
        assert letter.body == message.payload
        assert letter.attributes["id"] == message.message_id
        assert letter.attributes["type"] == _SENT
        assert letter.attributes["subject"] == "p-1"
        assert desk.numbers_tried("p-1") == [0] * self.attempts + [1]
        finals = [labels[-1] for labels in metrics.so_far("consume_failed")]
        assert finals == [False] * (self.attempts - 1) + [True]

    def test_an_event_that_cannot_be_read_is_a_dead_letter_at_once(
        self, broker: IBrokerUnderTest, stored: Stored, metrics: ToldMetrics
    ) -> None:
        desk = ParcelDesk()
        manager = broker.manager(metrics=metrics)
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        manager.publish_stored(attrs.evolve(stored(a_parcel(0)), payload=b"no JSON"))
        manager.publish_stored(stored(a_parcel(1)))

        desk.done.wait_for(1, self._seconds)
        (letter,) = broker.dead_letters()
        assert letter.body == b"no JSON"
        assert metrics.so_far("consume_failed") == [(_SENT, "desk", True)]

    def test_an_event_of_a_newer_version_is_tried_again(
        self, broker: IBrokerUnderTest, stored: Stored, metrics: ToldMetrics
    ) -> None:
        """While a deploy is under way another member may know it."""
        desk = ParcelDesk()
        manager = broker.manager(metrics=metrics)
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        manager.publish_stored(attrs.evolve(stored(a_parcel(0)), event_version=99))
        manager.publish_stored(stored(a_parcel(1)))

        desk.done.wait_for(1, self._seconds)
        assert len(broker.dead_letters()) == 1
        finals = [labels[-1] for labels in metrics.so_far("consume_failed")]
        assert finals == [False] * (self.attempts - 1) + [True]

    def test_what_nobody_subscribes_to_is_passed_over(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        unknown = attrs.evolve(stored(a_parcel(0)), event_type="contract.unknown", payload=b"?")
        for _ in range(3):
            manager.publish_stored(unknown)
        manager.publish_stored(stored(a_parcel(1)))

        desk.done.wait_for(1, self._seconds)
        assert desk.numbers_tried("p-1") == [1]
        assert not broker.dead_letters()

    def test_what_is_no_event_is_passed_over(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        broker.send_foreign(b"hello", {})
        broker.send_foreign(b"\xff\xfe", {"color": "blue"})
        manager.publish_stored(stored(a_parcel(1)))

        desk.done.wait_for(1, self._seconds)
        assert not broker.dead_letters()

    def test_what_claims_to_be_an_event_and_is_none_is_a_dead_letter(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()

        broker.send_foreign(b"{}", {"type": _SENT})
        manager.publish_stored(stored(a_parcel(1)))

        desk.done.wait_for(1, self._seconds)
        (letter,) = broker.dead_letters()
        assert letter.body == b"{}"

    def test_a_duplicate_is_handled_again(self, manager: IEventManager, stored: Stored) -> None:
        """At least once: what drops duplicates is the consumer's inbox, by the event's id."""
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()
        message = stored(a_parcel(7))

        manager.publish_stored(message)
        manager.publish_stored(message)

        (_, first), (_, second) = desk.done.wait_for(2, self._seconds)
        assert first.event_id == second.event_id

    def test_each_group_has_every_event(self, broker: IBrokerUnderTest, stored: Stored) -> None:
        desks = [ParcelDesk(), ParcelDesk()]
        ours, others = broker.manager(), broker.manager(group=f"{broker.group}-other")
        for member, desk in zip((ours, others), desks, strict=True):
            member.register_subscriber("desk", ParcelSent, desk.handle)
            member.start()

        for event in parcels("p-1", 5):
            ours.publish_stored(stored(event))

        for desk in desks:
            desk.done.wait_for(5, self._seconds)
            assert desk.numbers_done("p-1") == [0, 1, 2, 3, 4]

    def test_a_group_shares_the_events(self, broker: IBrokerUnderTest, stored: Stored) -> None:
        desks = [ParcelDesk(), ParcelDesk()]
        members = [broker.manager(), broker.manager()]
        for member, desk in zip(members, desks, strict=True):
            member.register_subscriber("desk", ParcelSent, desk.handle)
            member.start()
        events = [ParcelSent(aggregate_id=f"p-{number}") for number in range(40)]

        for event in events:
            members[0].publish_stored(stored(event))

        def handled() -> list[set[str]]:
            return [{of for of, _ in desk.done.so_far()} for desk in desks]

        self._wait_until(lambda: len(set().union(*handled())) == 40, handled)
        # A rebalance may bring some to both, but not most of them.
        assert len(set.intersection(*handled())) < 30

    def test_what_was_published_before_the_group_came_is_there_for_it(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        if not self.keeps_for_new_groups:
            pytest.skip("this broker has nothing for a group that comes later")
        publisher = broker.manager()
        publisher.start()
        for event in parcels("p-1", 3):
            publisher.publish_stored(stored(event))
        desk = ParcelDesk()
        late = broker.manager()
        late.register_subscriber("desk", ParcelSent, desk.handle)

        late.start()

        desk.done.wait_for(3, self._seconds)
        assert desk.numbers_done("p-1") == [0, 1, 2]
