"""Contract of ``IEventManager``: subclass it, provide two fixtures, run pytest.

    class TestMine(EventManagerContract):
        @pytest.fixture
        def manager(self) -> IEventManager: ...            # new, not started; shut it down after

        @pytest.fixture
        def stored(self) -> Callable[[DomainEvent], OutboxMessage]: ...

``stored`` encodes as the application does. Register ``CONTRACT_EVENTS`` with the serializer.
"""

import datetime as dt
from collections.abc import Callable
from typing import ClassVar

import attrs
import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import (
    EventDeserializationError,
    EventPublishError,
    InfrastructureError,
    SubscriptionError,
    UnknownEventTypeError,
)
from pragmatic_ddd.ports import Delivery, IEventManager, OutboxMessage, Receipt
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


class EventManagerContract:
    """What every event manager promises.

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

    def _subscribe_failing(self, manager: IEventManager, code: str, reason: str) -> None:
        def fail(_: ParcelSent) -> None:
            raise LookupError(reason)

        manager.register_subscriber(code, ParcelSent, fail)

    def _wait(self, calls: SubscriberCalls, count: int) -> list[tuple[str, DomainEvent]]:
        return calls.wait_for(count, self.patience.total_seconds())

    def _refuses(self, manager: IEventManager, stored: Stored) -> None:
        with pytest.raises(EventPublishError):
            manager.publish(a_parcel())
        with pytest.raises(EventPublishError):
            manager.publish_stored(stored(a_parcel()))

    def _only_in_process(self, why: str) -> None:
        if not self.works_in_process:
            pytest.skip(f"this event manager publishes to a broker: {why}")
