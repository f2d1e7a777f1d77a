"""Sends integration events over whatever broker an event manager speaks to.

events = KafkaEventManager(…)                       # or any other one over a broker
messenger = BrokerBroadcastMessenger(events)
"""

import attrs

from pragmatic_ddd.application.arguments import check_words, implements
from pragmatic_ddd.application.broadcast.envelopes import message_of
from pragmatic_ddd.errors import (
    BroadcastEnvelopeError,
    BroadcastSendError,
    EventPublishError,
    EventRejectedError,
)
from pragmatic_ddd.ports.broadcast import AggregateMessageEnvelope
from pragmatic_ddd.ports.events import ITopicPublisher, Receipt


@attrs.frozen
class BrokerBroadcastMessenger:
    """Sends each envelope as one message; see ``IBroadcastMessenger``.

    Attributes:
        publisher: An event manager over a broker, which somebody else starts and shuts down.
    """

    publisher: ITopicPublisher = attrs.field(validator=implements(ITopicPublisher))

    def send(self, topic: str, envelope: AggregateMessageEnvelope) -> Receipt:
        """Send a message; return when the broker has confirmed it. See the port."""
        check_words("topic", topic)
        try:
            return self.publisher.publish_to(topic, message_of(envelope))
        except EventPublishError as error:
            kind = (
                BroadcastEnvelopeError
                if isinstance(error, EventRejectedError)
                else BroadcastSendError
            )
            reason = f"topic {topic!r}: {error.reason}"
            raise kind(envelope.message_type, envelope.message_id, reason) from error
