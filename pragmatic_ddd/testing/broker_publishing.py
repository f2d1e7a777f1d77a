"""Contract of a broker's event manager, the part that publishes: confirmed, or a clear error."""

import attrs
import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
)
from pragmatic_ddd.ports import (
    IEventManager,
    IPipelinedEventPublisher,
    OutboxMessage,
    OutboxStatus,
    Receipt,
)
from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    BrokerMessage,
    ContractOutbox,
    IBrokerUnderTest,
    Stored,
    parcels,
)
from pragmatic_ddd.testing.event_manager_binding import ParcelSent, a_parcel
from pragmatic_ddd.testing.told_metrics import ToldMetrics


class BrokerPublishingContract(BrokerBinding):
    """What lies on the broker after a receipt, and which errors say that nothing does."""

    def test_a_confirmed_message_lies_on_its_topic_as_it_was_stored(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        manager.start()
        message = _placed(stored(a_parcel(7)))

        receipt = manager.publish_stored(message)

        assert receipt.text
        (found,) = broker.messages()
        assert found.body == message.payload
        expected = {
            "specversion": "1.0",
            "id": message.message_id,
            "type": "contract.parcel.sent",
            "subject": "p-1",
            "aggregatetype": "contract.parcel",
            "aggregateversion": "3",
            "eventindex": "1",
            "eventversion": "1",
            "datacontenttype": "application/json",
            "correlationid": "c-1",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        }
        assert {name: found.attributes.get(name) for name in expected} == expected
        assert found.attributes["source"]

    def test_any_text_arrives_as_it_was(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        manager.start()
        message = attrs.evolve(
            stored(a_parcel()),
            aggregate_id="Größe 订单 \N{GRINNING FACE} a=b;c,d%20",
            payload='{"note": "Größe 订单 \N{GRINNING FACE} \\" \\\\"}'.encode(),
            headers={"tenant": "Zürich 订单", "correlation-id": "ü %41"},
        )

        manager.publish_stored(message)

        (found,) = broker.messages()
        assert found.body == message.payload
        assert found.attributes["subject"] == message.aggregate_id
        assert found.attributes["correlationid"] == "ü %41"
        assert "Zürich 订单" in found.attributes["headers"]

    def test_an_addressed_copy_says_whom_it_is_for(
        self, manager: IEventManager, broker: IBrokerUnderTest
    ) -> None:
        manager.start()

        manager.publish(a_parcel(), subscriber="stock", only_this=True)
        manager.publish(a_parcel())

        first, second = broker.messages()
        assert (first.attributes["subscriber"], first.attributes["onlythis"]) == ("stock", "true")
        assert not {"subscriber", "onlythis", "consumergroup"} & set(second.attributes)

    def test_the_receipt_is_kept_with_the_row(
        self, manager: IEventManager, stored: Stored, outbox: ContractOutbox
    ) -> None:
        manager.start()
        messages = [stored(event) for event in (*parcels("a", 2), *parcels("b", 1))]
        outbox.store.store(messages)

        outbox.relay_once(manager)

        entries = [outbox.store.find(message.message_id) for message in messages]
        assert [entry.status for entry in entries if entry] == [OutboxStatus.SENT] * 3
        assert len({entry.receipt for entry in entries if entry and entry.receipt}) == 3

    def test_every_try_is_the_same_message(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        manager.start()
        message = stored(a_parcel(7))

        manager.publish_stored(message)
        manager.publish_stored(message)

        first, second = broker.messages()
        assert _what_matters(first) == _what_matters(second)

    def test_direct_publishing_is_counted(
        self, broker: IBrokerUnderTest, metrics: ToldMetrics
    ) -> None:
        manager = broker.manager(metrics=metrics)
        with pytest.raises(EventPublishError):
            manager.publish(a_parcel())
        manager.start()

        manager.publish(a_parcel())

        assert [labels[0] for labels in metrics.so_far("published")] == [ParcelSent.event_type]
        assert len(metrics.so_far("publish_failed")) == 1

    def test_many_messages_are_each_confirmed(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        publisher = self._pipelined(manager)
        manager.start()
        messages = [stored(ParcelSent(aggregate_id=f"p-{number}")) for number in range(100)]

        answers = publisher.publish_many(messages)

        assert [type(answer) for answer in answers] == [Receipt] * 100
        assert len(set(answers)) == 100
        sent = {message.message_id for message in messages}
        assert {found.attributes["id"] for found in broker.messages()} == sent

    def test_one_that_is_refused_keeps_none_of_the_others(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        publisher = self._pipelined(manager)
        manager.start()
        messages = [stored(ParcelSent(aggregate_id=f"p-{number}")) for number in range(5)]
        messages[2] = attrs.evolve(messages[2], payload=self._too_large())

        answers = publisher.publish_many(messages)

        kinds = [type(answer) for answer in answers]
        assert kinds == [Receipt, Receipt, EventRejectedError, Receipt, Receipt]
        refused = answers[2]
        assert isinstance(refused, EventRejectedError)
        assert refused.event_id == messages[2].message_id
        assert len(broker.messages()) == 4

    def test_a_body_that_is_too_large_is_refused_for_good(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        body = self._too_large()
        manager.start()

        with pytest.raises(EventRejectedError) as caught:
            manager.publish_stored(attrs.evolve(stored(a_parcel()), payload=body))

        assert not caught.value.retryable
        assert caught.value.topic == broker.topic
        assert manager.publish_stored(stored(a_parcel())).text
        assert len(broker.messages()) == 1

    def test_the_largest_body_is_taken(
        self, manager: IEventManager, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        body = self._too_large()[:-1]
        manager.start()

        manager.publish_stored(attrs.evolve(stored(a_parcel()), payload=body))

        (found,) = broker.messages()
        assert len(found.body) == self.largest_body_bytes

    def test_a_topic_that_no_broker_can_have_kills_no_event(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        """A setting is wrong, not the event: it may be published once that is mended."""
        if self.misnamed_topic is None:
            pytest.skip("any name is a topic here")
        manager = broker.manager(topic=self.misnamed_topic)
        manager.start()

        with pytest.raises(EventPublishError) as caught:
            manager.publish_stored(stored(a_parcel()))

        assert caught.value.retryable
        assert not isinstance(caught.value, BrokerUnavailableError)

    def test_an_empty_topic_kills_no_event(self, broker: IBrokerUnderTest, stored: Stored) -> None:
        manager = broker.manager(topic="")
        manager.start()

        with pytest.raises(EventPublishError) as caught:
            manager.publish_stored(stored(a_parcel()))

        assert caught.value.retryable
        assert not isinstance(caught.value, BrokerUnavailableError)

    def test_a_topic_that_does_not_exist_is_an_error_or_comes_into_being(
        self, broker: IBrokerUnderTest, stored: Stored
    ) -> None:
        topic = f"{broker.topic}-missing"
        manager = broker.manager(topic=topic)
        manager.start()

        if self.error_of_missing_topic is None:
            assert manager.publish_stored(stored(a_parcel())).text
            assert len(broker.messages(topic)) == 1
            return
        with pytest.raises(self.error_of_missing_topic) as caught:
            manager.publish_stored(stored(a_parcel()))
        assert type(caught.value) is self.error_of_missing_topic
        assert caught.value.retryable

    def _pipelined(self, manager: IEventManager) -> IPipelinedEventPublisher:
        if not callable(getattr(manager, "publish_many", None)):
            pytest.skip("this event manager publishes one by one")
        return manager  # type: ignore[return-value]  # it has what the port adds

    def _too_large(self) -> bytes:
        if self.largest_body_bytes is None:
            pytest.skip("no body that a test could send is too large")
        head, tail = b'{"note": "', b'"}'
        filling = self.largest_body_bytes + 1 - len(head) - len(tail)
        return head + b"x" * filling + tail


def _placed(message: OutboxMessage) -> OutboxMessage:
    headers = {
        "correlation-id": "c-1",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    return attrs.evolve(message, aggregate_version=3, event_index=1, headers=headers)


def _what_matters(message: BrokerMessage) -> tuple[bytes, dict[str, str]]:
    return message.body, dict(message.attributes)
