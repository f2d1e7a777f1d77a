"""Contract of ``IEventManager``, the part that publishes: to everybody, in order, or not at all."""

import attrs
import pytest

from pragmatic_ddd.errors import (
    EventDeserializationError,
    EventPublishError,
    SubscriptionError,
    UnknownEventTypeError,
)
from pragmatic_ddd.ports import IEventManager, Receipt
from pragmatic_ddd.testing.event_manager_binding import (
    EventManagerBinding,
    ParcelLost,
    ParcelSent,
    Stored,
    a_parcel,
)
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls


class EventPublishingContract(EventManagerBinding):
    """Who is called with what is published, and what becomes of failures."""

    def test_a_stored_message_reaches_each_subscriber(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        for code in ("stock", "mail"):
            self._subscribe(manager, calls, code)
        manager.start()
        event = a_parcel(7)

        receipt = manager.publish_stored(stored(event))

        assert isinstance(receipt, Receipt)
        assert receipt.text
        found = self._wait(calls, 2)
        assert sorted(code for code, _ in found) == ["mail", "stock"]
        assert all(received == event for _, received in found)

    def test_a_published_event_reaches_each_subscriber(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        for code in ("stock", "mail"):
            self._subscribe(manager, calls, code)
        manager.start()
        event = a_parcel(7)

        assert isinstance(manager.publish(event), Receipt)

        found = self._wait(calls, 2)
        assert sorted(code for code, _ in found) == ["mail", "stock"]
        assert all(received == event for _, received in found)

    def test_events_are_published_in_the_given_order(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "stock")
        manager.start()
        events = [a_parcel(number) for number in range(20)]

        for event in events:
            manager.publish_stored(stored(event))

        assert [event for _, event in self._wait(calls, 20)] == events

    def test_several_events_are_each_confirmed(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "stock")
        manager.start()

        receipts = manager.publish_all([a_parcel(1), a_parcel(2)])

        assert [type(receipt) for receipt in receipts] == [Receipt, Receipt]
        self._wait(calls, 2)

    def test_an_event_without_subscribers_is_confirmed(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        manager.start()

        assert manager.publish_stored(stored(a_parcel())).text
        assert manager.publish(a_parcel()).text

    def test_subscribers_of_other_events_are_not_called(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        manager.register_subscriber("lost", ParcelLost, lambda event: calls.add("lost", event))
        self._subscribe(manager, calls, "sent")
        manager.start()

        manager.publish_stored(stored(a_parcel()))

        assert [code for code, _ in self._wait(calls, 1)] == ["sent"]
        manager.shutdown()
        assert [code for code, _ in calls.so_far()] == ["sent"]

    def test_an_event_may_be_published_for_one_subscriber(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "pick")
        self._subscribe(manager, calls, "pay")
        self._subscribe(manager, calls, "ship", depends_on=["pick", "pay"])
        manager.start()

        manager.publish(a_parcel(), subscriber="pick")

        assert [code for code, _ in self._wait(calls, 2)] == ["pick", "ship"]
        manager.shutdown()
        assert [code for code, _ in calls.so_far()] == ["pick", "ship"]

    def test_an_event_may_be_published_for_one_subscriber_only(
        self, manager: IEventManager, calls: SubscriberCalls
    ) -> None:
        self._subscribe(manager, calls, "pick")
        self._subscribe(manager, calls, "ship", depends_on=["pick"])
        manager.start()

        manager.publish(a_parcel(), subscriber="pick", only_this=True)

        assert [code for code, _ in self._wait(calls, 1)] == ["pick"]
        manager.shutdown()
        assert [code for code, _ in calls.so_far()] == ["pick"]

    def test_publishing_for_an_unknown_subscriber_is_an_error(self, manager: IEventManager) -> None:
        self._only_in_process("a broker's publisher does not know the consumers")
        manager.start()

        with pytest.raises(SubscriptionError):
            manager.publish(a_parcel(), subscriber="nobody")

    def test_a_failed_root_subscriber_fails_the_publishing(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._only_in_process("the broker has it, whatever consumers do")
        self._subscribe_failing(manager, "stock", "out of shelves")
        self._subscribe(manager, calls, "mail", depends_on=["stock"])
        manager.start()
        message = stored(a_parcel())

        with pytest.raises(EventPublishError, match="out of shelves") as failure:
            manager.publish_stored(message)

        assert failure.value.event_id == message.message_id
        assert isinstance(failure.value.__cause__, LookupError)
        manager.shutdown()
        assert calls.so_far() == []

    def test_a_failed_subscriber_keeps_no_other_from_being_called(
        self, manager: IEventManager, stored: Stored, calls: SubscriberCalls
    ) -> None:
        self._only_in_process("consumers fail in their own time")
        self._subscribe_failing(manager, "stock", "out of shelves")
        self._subscribe(manager, calls, "mail")
        manager.start()

        with pytest.raises(EventPublishError):
            manager.publish_stored(stored(a_parcel()))

        assert [code for code, _ in calls.so_far()] == ["mail"]

    def test_a_message_of_an_unknown_event_may_succeed_later(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_in_process("a broker takes what it does not know")
        manager.start()

        with pytest.raises(UnknownEventTypeError):
            manager.publish_stored(attrs.evolve(stored(a_parcel()), event_type="contract.newer"))
        with pytest.raises(UnknownEventTypeError):
            manager.publish_stored(attrs.evolve(stored(a_parcel()), event_version=99))

    def test_a_payload_that_cannot_be_read_is_final(
        self, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_in_process("a broker does not read payloads")
        manager.start()

        with pytest.raises(EventDeserializationError):
            manager.publish_stored(attrs.evolve(stored(a_parcel()), payload=b"{}"))

    def _subscribe_failing(self, manager: IEventManager, code: str, reason: str) -> None:
        def fail(_: ParcelSent) -> None:
            raise LookupError(reason)

        manager.register_subscriber(code, ParcelSent, fail)
