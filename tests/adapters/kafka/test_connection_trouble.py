"""What a client says of its connections."""

import logging
import time

import pytest
from confluent_kafka import KafkaError

from pragmatic_ddd_kafka.client_log import ClientLog
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble


def refused(after_ms: int = 0) -> KafkaError:
    text = f"kafka:9092: Connect failed: refused (after {after_ms}ms in state CONNECT)"
    return KafkaError(KafkaError._TRANSPORT, text)


def test_trouble_lasts_until_the_cluster_answers() -> None:
    trouble = ConnectionTrouble("producer")
    assert trouble.since(0.0) is None

    trouble.note(refused())
    later = time.monotonic() + 1
    assert trouble.since(later) == "_TRANSPORT: kafka:9092: Connect failed: refused"

    trouble.over()
    assert trouble.since(later) is None


def test_trouble_that_is_over_explains_what_was_under_way_meanwhile() -> None:
    """One broker is down, another one confirms."""
    trouble = ConnectionTrouble("producer")
    begun = time.monotonic()

    trouble.note(refused())
    trouble.over()

    assert trouble.since(begun) is not None


def test_the_same_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    trouble = ConnectionTrouble("producer")

    for after_ms in range(5):
        trouble.note(refused(after_ms))
    trouble.note(KafkaError(KafkaError._SSL, "certificate expired"))

    assert [each.getMessage() for each in caplog.records] == [
        "producer: _TRANSPORT: kafka:9092: Connect failed: refused",
        "producer: _SSL: certificate expired",
    ]
    assert {each.levelno for each in caplog.records} == {logging.WARNING}


def test_that_all_brokers_are_down_hides_no_cause(caplog: pytest.LogCaptureFixture) -> None:
    trouble = ConnectionTrouble("producer")
    all_down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    trouble.note(refused())

    trouble.note(all_down)

    assert trouble.since(0.0) == "_TRANSPORT: kafka:9092: Connect failed: refused"
    assert len(caplog.records) == 1
    trouble.over()
    trouble.note(all_down)
    assert trouble.since(0.0) == "_ALL_BROKERS_DOWN: 1/1 brokers are down"


@pytest.mark.parametrize(
    "error", [KafkaError(KafkaError._FATAL, "fenced"), KafkaError(KafkaError._FAIL, "?", True)]
)
def test_a_fatal_error_is_remembered(error: KafkaError) -> None:
    trouble = ConnectionTrouble("producer")
    trouble.note(error)

    trouble.over()

    assert trouble.is_fatal


def test_lines_of_the_client_keep_their_level_unless_they_are_told_elsewhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = ClientLog()

    with caplog.at_level(logging.DEBUG):
        log.log(logging.ERROR, "%s [%s] %s", "FAIL", "rdkafka#1", "refused")
        log.log(logging.WARNING, "%s [%s] %s", "SSL", "rdkafka#1", "expired")

    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("DEBUG", "FAIL [rdkafka#1] refused"),
        ("WARNING", "SSL [rdkafka#1] expired"),
    ]
