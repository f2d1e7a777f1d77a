"""The messenger over a broker: one message for each envelope, and errors of its own."""

import attrs
import pytest

from pragmatic_ddd.application.broadcast import BrokerBroadcastMessenger, message_of
from pragmatic_ddd.errors import (
    BroadcastEnvelopeError,
    BroadcastError,
    BroadcastSendError,
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IBroadcastMessenger, OutboxMessage, Receipt
from pragmatic_ddd.testing.broadcast_messenger import an_envelope


@attrs.define
class ListPublisher:
    sent: list[tuple[str, OutboxMessage]] = attrs.field(factory=list)
    error: Exception | None = None

    def publish_to(self, topic: str, message: OutboxMessage) -> Receipt:
        if self.error is not None:
            raise self.error
        self.sent.append((topic, message))
        return Receipt("public/3@41")


def test_an_envelope_is_one_message_on_the_topic_that_was_named() -> None:
    publisher = ListPublisher()
    messenger: IBroadcastMessenger = BrokerBroadcastMessenger(publisher)
    envelope = an_envelope()

    assert messenger.send("public", envelope) == Receipt("public/3@41")
    assert publisher.sent == [("public", message_of(envelope))]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (BrokerUnavailableError, BroadcastSendError),
        (EventPublishError, BroadcastSendError),
        (EventUnconfirmedError, BroadcastSendError),
        (EventRejectedError, BroadcastEnvelopeError),
    ],
)
def test_errors_of_publishing_are_errors_of_broadcasting(
    error: type[EventPublishError], raised: type[BroadcastError]
) -> None:
    envelope = an_envelope()
    cause = error(envelope.message_id, "public", "too large")

    with pytest.raises(BroadcastError) as caught:
        BrokerBroadcastMessenger(ListPublisher(error=cause)).send("public", envelope)

    assert type(caught.value) is raised
    assert caught.value.retryable is cause.retryable
    assert caught.value.__cause__ is cause
    assert str(caught.value) == (
        f"cannot broadcast shop.order-paid {envelope.message_id}: topic 'public': too large"
    )


def test_another_error_is_passed_on() -> None:
    mistake = ValueError("topic 'a b': without a space")

    with pytest.raises(ValueError, match="without a space"):
        BrokerBroadcastMessenger(ListPublisher(error=mistake)).send("a b", an_envelope())


def test_it_is_made_of_something_that_publishes_to_topics() -> None:
    with pytest.raises(TypeError, match="give an ITopicPublisher; this has no publish_to"):
        BrokerBroadcastMessenger(object())  # type: ignore[arg-type]  # what is refused
