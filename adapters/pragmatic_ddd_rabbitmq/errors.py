"""What can go wrong with RabbitMQ, and its translation into the errors of the ports.

    RefusedMessageError     EventRejectedError       it can never be taken; nobody has it
    UndeliverableError      EventPublishError        no queue, no exchange or no permission: an
                                                     operator can mend it; nobody has it
    NotConnectedError       BrokerUnavailableError   away, blocked or lost; what was under way
                                                     may have been delivered
    NotConfirmedError       EventUnconfirmedError    it may or may not have been delivered

RabbitMQ says what it refuses by closing the channel, or the connection, with a code.
"""

from typing import Final

from amqp.exceptions import AMQPError

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
)

CONTENT_TOO_LARGE: Final = 311
CONNECTION_FORCED: Final = 320
ACCESS_REFUSED: Final = 403
NOT_FOUND: Final = 404
PRECONDITION_FAILED: Final = 406
INTERNAL_ERROR: Final = 541

# Codes by which the broker refuses what was sent, not the whole client.
_CHANNEL_CODES: Final = frozenset(
    {CONTENT_TOO_LARGE, ACCESS_REFUSED, NOT_FOUND, 405, PRECONDITION_FAILED}
)
_PROTOCOL_CODES: Final = frozenset({501, 502, 503, 504, 505, 506, 540, INTERNAL_ERROR})
_DECLARE_EXCHANGE: Final = (40, 10)


class RabbitMqStartError(InfrastructureError):
    """Nothing could be consumed, or the topology is not as it should be. It may start later."""

    retryable = True


class RefusedMessageError(ValueError):
    """A message breaks a rule of RabbitMQ or of this adapter: no try can succeed."""


class UndeliverableError(Exception):
    """A message cannot go where it should: no queue, no exchange, or no permission."""


class NotConnectedError(Exception):
    """RabbitMQ cannot be reached, takes nothing now, or the connection is lost."""


class NotConfirmedError(Exception):
    """RabbitMQ did not confirm a message. It may or may not have been stored."""


SendError = RefusedMessageError | UndeliverableError | NotConnectedError | NotConfirmedError


class LinkLostError(Exception):
    """A connection is of no use any more.

    Attributes:
        reason: Why, for people.
        code: What the broker said; 0 where it said nothing.
        method: Which of our methods it said it of, by class and number, if it told.
    """

    def __init__(self, reason: str, code: int = 0, method: tuple[int, int] | None = None) -> None:
        super().__init__(reason, code, method)
        self.reason = reason
        self.code = code
        self.method = method

    def __str__(self) -> str:
        return self.reason

    @property
    def is_a_refusal(self) -> bool:
        """Whether one of the messages under way is to blame, and not the broker."""
        return self.code in _CHANNEL_CODES or self.code in _PROTOCOL_CODES

    @property
    def is_about_destination(self) -> bool:
        """Whether every message to the same destination would be refused alike."""
        return self.code in (ACCESS_REFUSED, NOT_FOUND) or self.is_about_exchange

    @property
    def is_about_exchange(self) -> bool:
        """Whether the exchange is another one than we want, whatever is published to it."""
        return self.method == _DECLARE_EXCHANGE


def link_lost(error: Exception) -> LinkLostError:
    """Return why a connection is lost, from what the client raised."""
    if isinstance(error, LinkLostError):
        return error
    if isinstance(error, AMQPError):
        text = error.reply_text or type(error).__name__
        return LinkLostError(str(text), int(error.reply_code or 0), error.method_sig)
    if isinstance(error, TimeoutError):
        return LinkLostError("RabbitMQ does not answer in time")
    return LinkLostError(f"the connection is lost: {str(error) or type(error).__name__}")


def refusal(error: LinkLostError) -> SendError:
    """Return what the loss of a connection says of the one message that was under way on it."""
    if error.code == INTERNAL_ERROR:
        return NotConfirmedError(error.reason)
    if error.code in (PRECONDITION_FAILED, CONTENT_TOO_LARGE) and not error.is_about_exchange:
        return RefusedMessageError(error.reason)
    if error.is_a_refusal:
        return UndeliverableError(error.reason)
    return NotConnectedError(error.reason)


def translated(error: SendError, event_id: str, topic: str) -> EventPublishError:
    """Return the error of ``IStoredEventPublisher`` for what sending one event has raised.

    Args:
        error: What was raised.
        event_id: The event.
        topic: The exchange that it was going to.
    """
    if isinstance(error, RefusedMessageError):
        return EventRejectedError(event_id, topic, str(error))
    if isinstance(error, UndeliverableError):
        return EventPublishError(event_id, topic, str(error))
    if isinstance(error, NotConnectedError):
        return BrokerUnavailableError(event_id, topic, str(error))
    return EventUnconfirmedError(event_id, topic, str(error))
