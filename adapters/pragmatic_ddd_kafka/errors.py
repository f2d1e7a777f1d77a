"""What can go wrong with Kafka's client, and its translation into the errors of the ports.

    RefusedMessageError    EventRejectedError       it can never be sent; the broker has not got it
    RefusedTopicError      EventPublishError        no such topic, or none that we may write to
    UnreachableError       BrokerUnavailableError   the cluster cannot be reached: no one's fault
    NotConfirmedError      EventUnconfirmedError    it may or may not have been delivered

The client tells causes by number. One number has several: a message that was not confirmed in
time. Where the client said meanwhile that it cannot connect, that is the cause.
"""

from typing import Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
)


class KafkaStartError(InfrastructureError):
    """The cluster does not answer, or lacks topics. Nothing is held; it may be started again."""

    retryable = True


class RefusedMessageError(ValueError):
    """A message breaks a rule of the broker, or of this adapter: no try can succeed."""


class RefusedBatchError(RefusedMessageError):
    """The broker refused a batch of messages: for the sake of this one, or of one beside it."""


class RefusedTopicError(Exception):
    """The broker refuses what is sent to this topic. A person may change that."""


class UnreachableError(Exception):
    """The cluster cannot be reached, or this process cannot send now."""


class NotConfirmedError(Exception):
    """The broker did not confirm a message. It may or may not have been stored."""


SendError: TypeAlias = (
    RefusedMessageError | RefusedTopicError | UnreachableError | NotConfirmedError
)

# What a broker finds wrong with one message it says of the whole batch.
_OF_THE_BATCH: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError._INVALID_DIFFERENT_RECORD,  # noqa: SLF001 - so the client names its own codes
        KafkaError.INVALID_TIMESTAMP,
    }
)

_OF_THE_TOPIC: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError.POLICY_VIOLATION,
    }
)

_OF_THE_CLUSTER: Final = frozenset(
    {
        KafkaError._QUEUE_FULL,  # noqa: SLF001
        KafkaError._PURGE_QUEUE,  # noqa: SLF001
        KafkaError._FATAL,  # noqa: SLF001
        KafkaError._STATE,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._AUTHENTICATION,  # noqa: SLF001
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.NOT_ENOUGH_REPLICAS,
    }
)

# After these the sequence numbers of producer and broker do not fit any more.
_OF_THE_PRODUCER: Final = frozenset(
    {
        KafkaError._FATAL,  # noqa: SLF001
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
    }
)


def send_error(error: KafkaError, *, trouble: str | None) -> SendError:
    """Return what the client's error means for a message.

    Args:
        error: From a delivery report, or from handing the message over.
        trouble: What the client said of its connections while the message was under way.
    """
    code, said = error.code(), f"{error.name()}: {error.str()}"
    if code in _OF_THE_BATCH:
        return RefusedBatchError(said)
    if code in _OF_THE_TOPIC:
        return RefusedTopicError(said)
    if trouble is not None:
        return UnreachableError(f"{said}; the client says: {trouble}")
    return UnreachableError(said) if code in _OF_THE_CLUSTER else NotConfirmedError(said)


def start_error(error: KafkaException, what: str) -> KafkaStartError | ConfigurationError:
    """Return what it means that a client could not be made.

    Args:
        error: What the client raised.
        what: Which client this is, for people.
    """
    cause: KafkaError = error.args[0]
    said = f"{what}: {cause.str()}"
    if cause.code() == KafkaError._INVALID_ARG:  # noqa: SLF001 - a setting
        return ConfigurationError([said])
    return KafkaStartError(said)


def spoils_producer(error: KafkaError) -> bool:
    """Say whether a producer that reports this can send nothing more in order."""
    return error.fatal() or error.code() in _OF_THE_PRODUCER


def translated(error: SendError, event_id: str, topic: str) -> EventPublishError:
    """Return the error of ``IStoredEventPublisher`` for what sending one event has raised.

    Args:
        error: What was raised.
        event_id: The event.
        topic: Where it was going.
    """
    if isinstance(error, UnreachableError):
        return BrokerUnavailableError(event_id, topic, str(error))
    if isinstance(error, NotConfirmedError):
        return EventUnconfirmedError(event_id, topic, str(error))
    if isinstance(error, RefusedTopicError):
        return EventPublishError(event_id, topic, str(error))
    return EventRejectedError(event_id, topic, str(error))
