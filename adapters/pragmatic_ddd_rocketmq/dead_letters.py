"""Where messages go that no subscriber could take: a topic of the consumer group's own.

    <consumer group>-dead-letter    body, key, tag and properties of the message, and what happened

The native client offers no dead-letter queue to an orderly consumer, so this is one of ours. A
dead letter is an ordinary message: read it with any consumer, and publish it again from there.
"""

import datetime as dt
import re
import traceback

import attrs

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_rocketmq.errors import RefusedMessageError
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage

SUFFIX = "-dead-letter"

ORIGINAL_TOPIC = "dead_letter_topic"
ORIGINAL_MESSAGE_ID = "dead_letter_message_id"
ORIGINAL_QUEUE = "dead_letter_queue"
ORIGINAL_OFFSET = "dead_letter_offset"
ATTEMPTS = "dead_letter_attempts"
ERROR = "dead_letter_error"
DIED_AT = "dead_letter_at"

_LONGEST_ERROR = 2000
_SHORTEST_ERROR = 200
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")
_NOT_IN_TAGS = re.compile(r"[\s|\x00-\x1f\x7f]+")
_NO_TEXT = "none"


@attrs.frozen(kw_only=True)
class DeadLetters:
    """Keeps what a consumer group has given up.

    Attributes:
        producer: Sends them; each is confirmed before its message is acknowledged.
        group: The consumer group.
    """

    producer: NativeProducer
    group: str

    @property
    def topic(self) -> str:
        """Where they go."""
        return self.group + SUFFIX

    def bury(self, message: ReceivedMessage, failure: Failure) -> None:
        """Send a message to the dead letters; return when the broker has confirmed it.

        Raises:
            NotSentError: It was not sent.
            NotConfirmedError: It may or may not have been sent.
            RefusedMessageError: It cannot be sent, whatever is left out of it.
        """
        self.producer.send(self._letter(message, failure))

    def _letter(self, message: ReceivedMessage, failure: Failure) -> OutgoingMessage:
        """Return the letter; with less of the error where there is no room for more."""
        try:
            return self._letter_with(message, failure, longest_error=_LONGEST_ERROR)
        except RefusedMessageError:
            return self._letter_with(message, failure, longest_error=_SHORTEST_ERROR)

    def _letter_with(
        self, message: ReceivedMessage, failure: Failure, *, longest_error: int
    ) -> OutgoingMessage:
        text = "".join(traceback.format_exception_only(failure.error)).strip()
        return OutgoingMessage(
            topic=self.topic,
            body=message.body or b"null",  # RocketMQ takes no empty one
            sharding_key=message.sharding_key or message.message_id,
            key=next(iter(message.keys.split()), message.message_id),
            tag=_NOT_IN_TAGS.sub("_", message.tag) or _NO_TEXT,
            properties={
                **message.properties,
                ORIGINAL_TOPIC: message.topic,
                ORIGINAL_MESSAGE_ID: message.message_id,
                ORIGINAL_QUEUE: str(message.queue_id),
                ORIGINAL_OFFSET: str(message.queue_offset),
                ATTEMPTS: str(failure.attempts),
                ERROR: _UNPRINTABLE.sub(" ", text)[:longest_error],
                DIED_AT: dt.datetime.now(dt.UTC).isoformat(),
            },
        )
