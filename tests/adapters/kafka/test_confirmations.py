"""The answers to the records of one call."""

import threading
import time

from confluent_kafka import KafkaError

from pragmatic_ddd_kafka.confirmations import Confirmations
from pragmatic_ddd_kafka.record import Delivery

HERE = Delivery("events", 0, 7)


def test_a_call_waits_for_the_last_answer() -> None:
    confirmations = Confirmations(2)
    confirmations.note(1, HERE)
    assert not confirmations.are_there(until=time.monotonic() + 0.01)
    thread = threading.Thread(target=lambda: confirmations.note(0, KafkaError(KafkaError._FAIL)))

    thread.start()

    assert confirmations.are_there(until=time.monotonic() + 10)
    thread.join()
    assert confirmations.of(1) is HERE
    assert isinstance(confirmations.of(0), KafkaError)


def test_only_the_first_answer_counts() -> None:
    confirmations = Confirmations(1)
    confirmations.note(0, HERE)

    confirmations.note(0, KafkaError(KafkaError._FAIL))

    assert confirmations.of(0) is HERE
    assert confirmations.are_there(until=0.0)


def test_nothing_is_waited_for_in_an_empty_call() -> None:
    assert Confirmations(0).are_there(until=0.0)


def test_a_receipt_says_where_a_record_lies() -> None:
    assert str(HERE) == "events/0@7"
    assert str(Delivery("events", 0, None)) == "events/0"
