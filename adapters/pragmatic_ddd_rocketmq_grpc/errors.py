"""What can go wrong between this process and the proxy, and what the ports call it.

    RefusedMessageError   EventRejectedError       it can never be sent, or is refused for good
    RefusedForNowError    EventPublishError        an operator can mend it: topic, type, permission
    NotAvailableError     BrokerUnavailableError   no connection, no account, or a busy broker
    NotConfirmedError     EventUnconfirmedError    it may or may not have been stored

Every way of the client to fail is one of these four before it leaves this package.
"""

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
    MissingDependencyError,
)


class GrpcClientError(MissingDependencyError):
    """The client is missing, is another version, or shares its folder with another client."""


class RocketMqGrpcStartError(InfrastructureError):
    """A client could not be started. It holds no resources and may be started again."""

    retryable = True


class RefusedMessageError(ValueError):
    """A message breaks a rule of RocketMQ: no try can succeed."""


class RefusedForNowError(Exception):
    """The proxy does not take this message now; an operator can mend that."""


class NotAvailableError(Exception):
    """The proxy cannot be used now, whatever the message is."""


class NotConfirmedError(Exception):
    """The broker did not confirm a message. It may or may not have been stored."""


SendError = RefusedMessageError | RefusedForNowError | NotAvailableError | NotConfirmedError
SEND_ERRORS = (RefusedMessageError, RefusedForNowError, NotAvailableError, NotConfirmedError)


def translated(error: SendError, event_id: str, topic: str) -> EventPublishError:
    """Return the error of ``IStoredEventPublisher`` for what sending one event has raised.

    Args:
        error: What was raised.
        event_id: The event.
        topic: Where it was going.
    """
    kind: type[EventPublishError]
    if isinstance(error, RefusedMessageError):
        kind = EventRejectedError
    elif isinstance(error, RefusedForNowError):
        kind = EventPublishError
    elif isinstance(error, NotAvailableError):
        kind = BrokerUnavailableError
    else:
        kind = EventUnconfirmedError
    translation = kind(event_id, topic, str(error))
    translation.__cause__ = error
    return translation
