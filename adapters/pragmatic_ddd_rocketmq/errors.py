"""What can go wrong with the native client, and its translation into the errors of the ports.

    RefusedMessageError      EventRejectedError       it can never be sent; it was not
    NotSentError             BrokerUnavailableError   this process cannot send now; it did not
    NotConfirmedError        EventUnconfirmedError    it may or may not have been delivered

The native client gives every refusal and every outage the same text, so that what is final is
found before sending, and everything else may be tried again.
"""

from collections.abc import Callable

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
    MissingDependencyError,
)

_SEND_OK = 0
_SEND_STATUSES = {
    1: "FLUSH_DISK_TIMEOUT: the broker has it in memory only",
    2: "FLUSH_SLAVE_TIMEOUT: no replica has confirmed it",
    3: "SLAVE_NOT_AVAILABLE: the broker has no replica",
}


class NativeLibraryError(MissingDependencyError):
    """The client or its native library is missing, too old, or cannot be loaded."""


class RocketMqStartError(InfrastructureError):
    """A client could not be started. It holds no resources and may be started again."""

    retryable = True


class RefusedMessageError(ValueError):
    """A message breaks a rule of RocketMQ: no try can succeed."""


class NotSentError(Exception):
    """The client was in no state to send. Nothing left this process."""


class NotConfirmedError(Exception):
    """The broker did not confirm a message. It may or may not have been stored."""


SendError = RefusedMessageError | NotSentError | NotConfirmedError


def check_confirmed(
    *,
    status: int,
    send_status: int,
    has_route: bool,
    last_error: str,
    context: Callable[[], str],
) -> None:
    """Raise unless the broker has confirmed a message with SEND_OK.

    Args:
        status: What the native call returned; 0 is success.
        send_status: The status within the broker's answer; counts only after success.
        has_route: Whether the client asked for a queue: without a route it never does.
        last_error: The native library's text, which is the same for most causes.
        context: Asked, after a failure, where the message was going, for people.

    Raises:
        NotConfirmedError: Anything but SEND_OK.
    """
    if status == 0 and send_status == _SEND_OK:
        return
    where = context()
    if status == 0:
        meaning = _SEND_STATUSES.get(send_status, f"unknown send status {send_status}")
        raise NotConfirmedError(f"{meaning} ({where})")
    if has_route:
        raise NotConfirmedError(
            f"no confirmation ({where}); the broker is busy, down or slow, or refuses the "
            f"topic or the message; the client says: {last_error or status}"
        )
    raise NotConfirmedError(
        f"no route ({where}): the name server is not reachable or no broker has the topic; "
        f"it was not sent; the client says: {last_error or status}"
    )


def translated(error: SendError, event_id: str, topic: str) -> EventPublishError:
    """Return the error of ``IStoredEventPublisher`` for what sending one event has raised.

    Args:
        error: What was raised.
        event_id: The event.
        topic: Where it was going.
    """
    if isinstance(error, NotSentError):
        return BrokerUnavailableError(event_id, topic, str(error))
    if isinstance(error, NotConfirmedError):
        return EventUnconfirmedError(event_id, topic, str(error))
    return EventRejectedError(event_id, topic, str(error))
