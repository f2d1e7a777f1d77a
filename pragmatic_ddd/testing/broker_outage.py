"""Contract of a broker's event manager, the part about a broker that is away or silent."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventUnconfirmedError,
    InfrastructureError,
)
from pragmatic_ddd.ports import IEventManager, OutboxStatus
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    ContractOutbox,
    IBrokerUnderTest,
    Stored,
    parcels,
)
from pragmatic_ddd.testing.event_manager_binding import ParcelSent, a_parcel
from pragmatic_ddd.testing.parcel_desk import ParcelDesk, first_times
from pragmatic_ddd.testing.slow_desk import SlowDesk

_MARGIN_SECONDS = 1.0  # for a busy machine
_PAUSE_SECONDS = 0.1


class BrokerOutageContract(BrokerBinding):
    """Nobody waits for a broker without end, and all goes on by itself when it is back."""

    def test_publishing_fails_in_time_while_the_broker_is_away(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_cut_off()
        manager.start()
        manager.publish_stored(stored(a_parcel(0)))

        with broker.outage():
            self._fails_in_time(manager, stored)

        self._publish_when_it_is_back(manager, stored, a_parcel(2))

    def test_publishing_fails_in_time_while_the_broker_is_silent(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_silenced()
        manager.start()
        manager.publish_stored(stored(a_parcel(0)))

        with broker.silence():
            self._fails_in_time(manager, stored)

        self._publish_when_it_is_back(manager, stored, a_parcel(2))

    def test_many_messages_fail_in_time_while_the_broker_is_away(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_cut_off()
        self._many_fail_in_time(manager, stored, broker.outage)

    def test_many_messages_fail_in_time_while_the_broker_is_silent(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_silenced()
        self._many_fail_in_time(manager, stored, broker.silence)

    def test_consuming_goes_on_by_itself_when_the_broker_is_back(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_cut_off()
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()
        first, second, third = parcels("p-1", 3)
        manager.publish_stored(stored(first))
        desk.done.wait_for(1, self._seconds)

        with broker.outage():
            self._fails_in_time(manager, stored, second)
        self._publish_when_it_is_back(manager, stored, second)
        self._publish_when_it_is_back(manager, stored, third)

        self._wait_until(
            lambda: first_times(desk.numbers_done("p-1")) == [0, 1, 2],
            lambda: desk.numbers_done("p-1"),
        )

    def test_what_was_in_hand_in_an_outage_is_settled_after_it(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        """An event may be handled twice: its acknowledgement fell into the outage."""
        self._only_where_it_can_be_cut_off()
        slow = SlowDesk()
        manager.register_subscriber("desk", ParcelSent, slow.handle)
        manager.start()
        first, second = parcels("p-1", 2)
        for event in (first, second):
            manager.publish_stored(stored(event))
        slow.begun.wait_for(1, self._seconds)

        with broker.outage():
            slow.go_on.set()
            slow.done.wait_for(1, self._seconds)

        self._wait_until(
            lambda: any(event == second for _, event in slow.done.so_far()), slow.done.so_far
        )
        done = [event for _, event in slow.done.so_far()]
        assert list(dict.fromkeys(done)) == [first, second]

    def test_an_outage_burns_no_attempts(
        self,
        broker: IBrokerUnderTest,
        manager: IEventManager,
        stored: Stored,
        outbox: ContractOutbox,
    ) -> None:
        self._only_where_it_can_be_cut_off()
        manager.start()
        manager.publish_stored(stored(a_parcel(0)))
        message = stored(a_parcel(1))
        outbox.store.store([message])

        with broker.outage():
            outbox.relay_once(manager)

            entry = outbox.store.find(message.message_id)
            assert entry is not None
            assert (entry.status, entry.attempts) == (OutboxStatus.PENDING, 0)
            assert entry.last_error

        def is_sent() -> bool:
            outbox.relay_once(manager)
            found = outbox.store.find(message.message_id)
            return found is not None and found.status is OutboxStatus.SENT

        self._wait_until(is_sent, lambda: outbox.store.find(message.message_id))

    def test_one_that_cannot_start_may_be_started_again(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        """Whether it starts without a broker is its own affair; in the end it works."""
        self._only_where_it_can_be_cut_off()
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        with broker.outage():
            started = self._starts(manager)

        self._wait_until(lambda: started or self._starts(manager), lambda: "it does not start")
        self._publish_when_it_is_back(manager, stored, a_parcel(1))

        desk.done.wait_for(1, self._seconds)

    def test_a_shutdown_ends_while_the_broker_is_away(
        self, broker: IBrokerUnderTest, manager: IEventManager, stored: Stored
    ) -> None:
        self._only_where_it_can_be_cut_off()
        desk = ParcelDesk()
        manager.register_subscriber("desk", ParcelSent, desk.handle)
        manager.start()
        manager.publish_stored(stored(a_parcel(0)))
        desk.done.wait_for(1, self._seconds)

        with broker.outage():
            begun = time.monotonic()
            manager.shutdown()
            assert time.monotonic() - begun < self._seconds

    def _fails_in_time(
        self, manager: IEventManager, stored: Stored, event: ParcelSent | None = None
    ) -> None:
        message = stored(event or a_parcel(1))
        begun = time.monotonic()
        with pytest.raises(EventPublishError) as caught:
            manager.publish_stored(message)
        assert time.monotonic() - begun < self._longest_call(manager)
        assert type(caught.value) in {BrokerUnavailableError, EventUnconfirmedError}
        assert caught.value.event_id == message.message_id

    def _many_fail_in_time(
        self,
        manager: IEventManager,
        stored: Stored,
        disturbed: Callable[[], AbstractContextManager[None]],
    ) -> None:
        publish_many = getattr(manager, "publish_many", None)
        if publish_many is None:
            pytest.skip("this event manager publishes one by one")
        manager.start()
        messages = [stored(ParcelSent(aggregate_id=f"p-{number}")) for number in range(20)]
        publish_many(messages)

        with disturbed():
            begun = time.monotonic()
            try:
                answers = publish_many(messages)
            except BrokerUnavailableError as error:
                answers = [error]
            assert time.monotonic() - begun < self._longest_call(manager)

        kinds = {type(answer) for answer in answers}
        assert kinds <= {BrokerUnavailableError, EventUnconfirmedError}
        self._publish_when_it_is_back(manager, stored, a_parcel(2))

    def _longest_call(self, manager: IEventManager) -> float:
        return manager.longest_call.total_seconds() + _MARGIN_SECONDS

    def _publish_when_it_is_back(
        self, manager: IEventManager, stored: Stored, event: ParcelSent
    ) -> None:
        """Publish as an outbox does: the same message again, until it is confirmed."""
        message = stored(event)
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                manager.publish_stored(message)
            except (BrokerUnavailableError, EventUnconfirmedError):
                assert time.monotonic() < deadline, "the broker is back, and it did not notice"
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _starts(self, manager: IEventManager) -> bool:
        try:
            manager.start()
        except InfrastructureError as error:
            if not error.retryable:
                raise
            return False
        return True

    def _only_where_it_can_be_cut_off(self) -> None:
        if not self.can_be_cut_off:
            pytest.skip("this broker cannot be cut off from one test alone")

    def _only_where_it_can_be_silenced(self) -> None:
        if not self.can_be_silenced:
            pytest.skip("this broker cannot be silenced for one test alone")
