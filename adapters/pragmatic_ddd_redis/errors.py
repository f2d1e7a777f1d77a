"""What can go wrong with Redis, and its translation into the errors of the ports.

NotSentError         BrokerUnavailableError   no connection, so nothing was sent
NoAnswerError        EventUnconfirmedError    sent, and no answer: it may have been added
RefusedEventError    EventRejectedError       it can never be sent; it was not
an error reply       BrokerUnavailableError   the server takes nothing now: it is full, loading,
                                              read-only, without replicas, or refuses this user
                     EventPublishError        this stream is at fault: no permission, no stream
"""

from collections.abc import Sequence

from redis import exceptions

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
)

_OF_THE_SERVER = (
    exceptions.AuthenticationError,
    exceptions.AuthorizationError,
    exceptions.BusyLoadingError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
    exceptions.AskError,
    exceptions.ConnectionError,
)
# Codes of replies that redis-py has no class for, or none in every version.
_CODES_OF_THE_SERVER = frozenset(
    {
        "ASK",
        "BUSY",
        "CLUSTERDOWN",
        "CROSSSLOT",
        "DENIED",
        "LOADING",
        "MASTERDOWN",
        "MISCONF",
        "MOVED",
        "NOAUTH",
        "NOREPLICAS",
        "OOM",
        "READONLY",
        "TRYAGAIN",
        "UNKILLABLE",
        "WRONGPASS",
    }
)


class RedisStartError(InfrastructureError):
    """Redis could not be asked at the start. Nothing is held, and it may be started again."""

    retryable = True


class RefusedEventError(ValueError):
    """An event breaks a rule of this adapter: no try can succeed."""


class NotSentError(Exception):
    """There was no connection to send through, or no time. Nothing was sent."""


class NoAnswerError(Exception):
    """Commands were sent, and not all of them answered: the others may have been carried out.

    Attributes:
        answers: What was answered, in the order of the commands.
    """

    def __init__(self, reason: str, answers: Sequence[object]) -> None:
        super().__init__(reason)
        self.answers = tuple(answers)


class RefusedCommandError(Exception):
    """The server answered a command with an error; ``__cause__`` is what redis-py made of it."""


def said(error: Exception) -> str:
    """Return kind and text of what redis-py raised; it names hosts, and no secrets."""
    return f"{type(error).__name__}: {error}"


def is_of_the_server(error: Exception) -> bool:
    """Say whether a reply means that the server takes nothing now, whatever it is sent."""
    if isinstance(error, _OF_THE_SERVER):
        return True
    code = str(error).partition(" ")[0]
    return code in _CODES_OF_THE_SERVER


def translated(error: Exception, event_id: str, topic: str) -> EventPublishError:
    """Return the error of ``IStoredEventPublisher`` for what adding one event has raised.

    Args:
        error: What was raised, or what the server replied.
        event_id: The event.
        topic: Where it was going.
    """
    if isinstance(error, RefusedEventError):
        return EventRejectedError(event_id, topic, str(error))
    if isinstance(error, NotSentError):
        return BrokerUnavailableError(event_id, topic, str(error))
    if isinstance(error, NoAnswerError):
        return EventUnconfirmedError(event_id, topic, str(error))
    if is_of_the_server(error):
        return BrokerUnavailableError(event_id, topic, said(error))
    return EventPublishError(event_id, topic, said(error))
