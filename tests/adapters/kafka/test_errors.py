"""The one place where the client's errors become the ports' errors."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
)
from pragmatic_ddd_kafka import KafkaStartError
from pragmatic_ddd_kafka.errors import (
    NotConfirmedError,
    RefusedBatchError,
    RefusedMessageError,
    RefusedTopicError,
    SendError,
    UnreachableError,
    send_error,
    spoils_producer,
    start_error,
    translated,
)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("MSG_SIZE_TOO_LARGE", RefusedBatchError),
        ("INVALID_RECORD", RefusedBatchError),
        ("_INVALID_DIFFERENT_RECORD", RefusedBatchError),
        ("UNKNOWN_TOPIC_OR_PART", RefusedTopicError),
        ("_UNKNOWN_TOPIC", RefusedTopicError),
        ("_UNKNOWN_PARTITION", RefusedTopicError),
        ("TOPIC_AUTHORIZATION_FAILED", RefusedTopicError),
        ("TOPIC_EXCEPTION", RefusedTopicError),
        ("_QUEUE_FULL", UnreachableError),
        ("_PURGE_QUEUE", UnreachableError),
        ("_FATAL", UnreachableError),
        ("_AUTHENTICATION", UnreachableError),
        ("CLUSTER_AUTHORIZATION_FAILED", UnreachableError),
        ("NOT_ENOUGH_REPLICAS", UnreachableError),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", NotConfirmedError),
        ("_MSG_TIMED_OUT", NotConfirmedError),
        ("_PURGE_INFLIGHT", NotConfirmedError),
        ("REQUEST_TIMED_OUT", NotConfirmedError),
        ("_TRANSPORT", NotConfirmedError),
        ("INVALID_PRODUCER_EPOCH", NotConfirmedError),
        ("UNKNOWN", NotConfirmedError),
    ],
)
def test_what_the_client_reports_has_a_meaning(name: str, meaning: type[SendError]) -> None:
    error = send_error(KafkaError(getattr(KafkaError, name)), trouble=None)

    assert type(error) is meaning
    assert name in str(error)


@pytest.mark.parametrize("name", ["_MSG_TIMED_OUT", "_PURGE_INFLIGHT", "_TRANSPORT"])
def test_what_was_not_confirmed_while_the_client_could_not_connect_is_an_outage(name: str) -> None:
    error = send_error(KafkaError(getattr(KafkaError, name)), trouble="refused by broker 1")

    assert type(error) is UnreachableError
    assert "refused by broker 1" in str(error)


@pytest.mark.parametrize("name", ["MSG_SIZE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PART"])
def test_trouble_elsewhere_excuses_no_refusal(name: str) -> None:
    error = KafkaError(getattr(KafkaError, name))

    assert type(send_error(error, trouble="refused")) is type(send_error(error, trouble=None))


@pytest.mark.parametrize(
    ("raised", "translation", "retryable"),
    [
        (RefusedMessageError("too large"), EventRejectedError, False),
        (RefusedBatchError("too large"), EventRejectedError, False),
        (RefusedTopicError("no such topic"), EventPublishError, True),
        (UnreachableError("nobody there"), BrokerUnavailableError, True),
        (NotConfirmedError("no answer"), EventUnconfirmedError, True),
    ],
)
def test_what_a_send_ends_with_becomes_an_error_of_the_port(
    raised: SendError, translation: type[EventPublishError], retryable: bool
) -> None:
    error = translated(raised, "event-1", "shop-events")

    assert type(error) is translation
    assert (error.event_id, error.topic, error.reason) == ("event-1", "shop-events", str(raised))
    assert error.retryable is retryable


def test_a_fatal_error_and_a_strange_epoch_spoil_a_producer() -> None:
    assert spoils_producer(KafkaError(KafkaError.UNKNOWN, "?", True))
    assert spoils_producer(KafkaError(KafkaError._FATAL))
    assert spoils_producer(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH))
    assert not spoils_producer(KafkaError(KafkaError._MSG_TIMED_OUT))


def test_a_client_that_cannot_be_made_says_whether_a_setting_is_wrong() -> None:
    wrong = start_error(KafkaException(KafkaError(KafkaError._INVALID_ARG, "no such")), "producer")
    broken = start_error(KafkaException(KafkaError(KafkaError._FAIL, "no thread")), "producer")

    assert isinstance(wrong, ConfigurationError)
    assert str(wrong) == "producer: no such"
    assert isinstance(broken, KafkaStartError)
    assert isinstance(broken, InfrastructureError)
    assert broken.retryable
