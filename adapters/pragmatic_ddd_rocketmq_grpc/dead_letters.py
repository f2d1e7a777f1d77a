"""Where messages go that no subscriber could take: a topic of the consumer group's own.

    <consumer group>-dead-letter    body, key, tag and properties of the message, and what happened

RocketMQ has a dead-letter queue of its own, ``%DLQ%<group>``. A letter there does not say what
went wrong, and a consumer that fetches messages itself cannot read it. So this is a topic like any
other, of type FIFO, the same one for both channels: read it with any consumer, and publish it again
from there. What ends the process that handles it, time and again, the proxy puts into its own.
"""

import datetime as dt
import re
import traceback
from typing import Final

import attrs

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_rocketmq_grpc.errors import RefusedMessageError
from pragmatic_ddd_rocketmq_grpc.event_message import event_properties
from pragmatic_ddd_rocketmq_grpc.message_group import message_group
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.producer import Producer
from pragmatic_ddd_rocketmq_grpc.received_message import ReceivedMessage

SUFFIX: Final = "-dead-letter"

ORIGINAL_TOPIC: Final = "dead_letter_topic"
ORIGINAL_MESSAGE_ID: Final = "dead_letter_message_id"
ORIGINAL_QUEUE: Final = "dead_letter_queue"
ORIGINAL_OFFSET: Final = "dead_letter_offset"
ATTEMPTS: Final = "dead_letter_attempts"
ERROR: Final = "dead_letter_error"
DIED_AT: Final = "dead_letter_at"

_LONGEST_ERROR = 2000
_SHORTEST_ERROR = 200
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_BLANKS = re.compile(r"\s+")
_NO_TEXT = "none"


@attrs.frozen(kw_only=True)
class DeadLetters:
    """Keeps what a consumer group has given up.

    Attributes:
        producer: Sends them; each is confirmed before its message is acknowledged.
        group: The consumer group.
    """

    producer: Producer
    group: str

    @property
    def topic(self) -> str:
        """Where they go."""
        return self.group + SUFFIX

    def bury(self, message: ReceivedMessage, failure: Failure) -> None:
        """Send a message to the dead letters; return when the broker has confirmed it.

        Raises:
            RefusedMessageError: It cannot be sent, whatever is left out of it.
            RefusedForNowError: The topic is missing, forbidden or of another type.
            NotAvailableError: The proxy cannot be used now.
            NotConfirmedError: It may or may not have been sent.
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
        key = _BLANKS.sub("_", next(iter(message.keys), "").strip())
        return OutgoingMessage(
            topic=self.topic,
            body=message.body or b"null",  # RocketMQ takes no empty one
            message_group=message_group(message.message_group or message.message_id),
            key=key or message.message_id,
            tag=message.tag.strip() or _NO_TEXT,
            properties={
                **event_properties(message.properties),
                ORIGINAL_TOPIC: message.topic,
                ORIGINAL_MESSAGE_ID: message.message_id,
                ORIGINAL_QUEUE: str(message.queue.number),
                ORIGINAL_OFFSET: str(message.queue_offset),
                ATTEMPTS: str(failure.attempts),
                ERROR: _UNPRINTABLE.sub(" ", text)[:longest_error],
                DIED_AT: dt.datetime.now(dt.UTC).isoformat(),
            },
        )
