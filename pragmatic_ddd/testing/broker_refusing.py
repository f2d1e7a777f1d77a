"""Contract of a broker's event manager, the part about rights: who may not write is told so."""

import pytest

from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import IEventManager, OutboxStatus
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    ContractOutbox,
    IBrokerUnderTest,
    Stored,
)
from pragmatic_ddd.testing.event_manager_binding import a_parcel


class BrokerRefusingContract(BrokerBinding):
    """A right that is missing is no fault of the event: it may be published once that is mended."""

    def test_who_may_not_write_is_told_so(
        self, unauthorised: IEventManager | None, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        manager = self._unauthorised(unauthorised)
        manager.start()
        message = stored(a_parcel())

        with pytest.raises(EventPublishError) as caught:
            manager.publish_stored(message)

        assert type(caught.value) is self.error_of_unauthorised
        assert caught.value.retryable
        assert caught.value.event_id == message.message_id
        assert not broker.messages()

    def test_an_event_waits_for_a_right_that_is_missing(
        self,
        unauthorised: IEventManager | None,
        manager: IEventManager,
        stored: Stored,
        outbox: ContractOutbox,
    ) -> None:
        without_right = self._unauthorised(unauthorised)
        without_right.start()
        manager.start()
        message = stored(a_parcel())
        outbox.store.store([message])

        outbox.relay_once(without_right)

        entry = outbox.store.find(message.message_id)
        assert entry is not None
        assert entry.status is OutboxStatus.PENDING
        assert entry.last_error

        def is_sent() -> bool:
            outbox.relay_once(manager)
            found = outbox.store.find(message.message_id)
            return found is not None and found.status is OutboxStatus.SENT

        self._wait_until(is_sent, lambda: outbox.store.find(message.message_id))

    def _unauthorised(self, manager: IEventManager | None) -> IEventManager:
        if manager is None:
            pytest.skip("nobody is refused here")
        return manager
