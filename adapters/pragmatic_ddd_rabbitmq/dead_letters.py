"""Where messages go that no subscriber could take: an exchange and a queue of the group's own.

    <group>-dead-letter     body and headers of the message, and what happened

A dead letter is an ordinary message. Published again to the exchange ``<group>`` it comes to
this group, and to no other one.
"""

import datetime as dt
import re
import traceback
from collections.abc import Callable
from typing import Final

import attrs

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_rabbitmq.errors import RefusedMessageError
from pragmatic_ddd_rabbitmq.outgoing_message import JSON, OutgoingMessage
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage, text_of

ORIGINAL_EXCHANGE: Final = "dead_letter_exchange"
ORIGINAL_ROUTING_KEY: Final = "dead_letter_routing_key"
ORIGINAL_QUEUE: Final = "dead_letter_queue"
ATTEMPTS: Final = "dead_letter_attempts"
ERROR: Final = "dead_letter_error"
DIED_AT: Final = "dead_letter_at"

_LONGEST_ERROR: Final = 2000
_SHORTEST_ERROR: Final = 200
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


@attrs.frozen(kw_only=True)
class DeadLetters:
    """Keeps what a consumer group has given up.

    Attributes:
        exchange: Where they go.
        publish: Publishes one message; returns when it is confirmed, or raises a ``SendError``.
    """

    exchange: str
    publish: Callable[[OutgoingMessage], object]

    def bury(self, message: ReceivedMessage, failure: Failure) -> None:
        """Publish a dead letter; return when RabbitMQ has confirmed it.

        Raises:
            UndeliverableError: Nobody has it: there is no such exchange, or no queue behind it.
            NotConnectedError: It was not sent, or may have been.
            NotConfirmedError: It may or may not have been sent.
            RefusedMessageError: It cannot be sent, whatever is left out of it.
        """
        try:
            self.publish(self._letter(message, failure, longest_error=_LONGEST_ERROR))
        except RefusedMessageError:  # perhaps there is no room for so many words
            self.publish(self._letter(message, failure, longest_error=_SHORTEST_ERROR))

    def _letter(
        self, message: ReceivedMessage, failure: Failure, *, longest_error: int
    ) -> OutgoingMessage:
        text = "".join(traceback.format_exception_only(failure.error)).strip()
        return OutgoingMessage(
            exchange=self.exchange,
            routing_key=message.routing_key,
            body=message.body,
            message_id=message.message_id or message.key,
            type=message.event_type,
            content_type=message.content_type or JSON,
            headers={
                **{name: text_of(value) for name, value in message.headers.items()},
                ORIGINAL_EXCHANGE: message.exchange,
                ORIGINAL_ROUTING_KEY: message.routing_key,
                ORIGINAL_QUEUE: message.queue,
                ATTEMPTS: str(failure.attempts),
                ERROR: _UNPRINTABLE.sub(" ", text)[:longest_error],
                DIED_AT: dt.datetime.now(dt.UTC).isoformat(),
            },
        )
