"""When a delayed copy is due."""

import datetime as dt
import time

import pytest

from pragmatic_ddd_kafka.delayed_copies import DelayedCopies
from pragmatic_ddd_kafka.record import ReceivedRecord
from tests.adapters.kafka.shop import a_producer

DELAY = dt.timedelta(seconds=30)


def seconds_left(*, age: float, topic: str = "shop-delay") -> float:
    copies = DelayedCopies(
        producer=a_producer(bootstrap_servers="nowhere:1"), group="shop", delay=DELAY
    )
    made = int((time.time() - age) * 1000)
    record = ReceivedRecord(topic=topic, partition=0, offset=0, timestamp_ms=made)
    return copies.seconds_left(record)


def test_a_copy_waits_for_what_is_left_of_the_delay() -> None:
    assert seconds_left(age=0) == pytest.approx(30, abs=1)
    assert seconds_left(age=20) == pytest.approx(10, abs=1)
    assert seconds_left(age=30) == 0
    assert seconds_left(age=3000) == 0


def test_a_clock_that_is_ahead_keeps_no_copy_for_longer_than_the_delay() -> None:
    assert seconds_left(age=-3600) == 30


def test_what_is_no_copy_does_not_wait() -> None:
    assert seconds_left(age=0, topic="shop-events") == 0


def test_a_copy_without_a_time_is_due() -> None:
    copies = DelayedCopies(
        producer=a_producer(bootstrap_servers="nowhere:1"), group="shop", delay=DELAY
    )

    assert copies.seconds_left(ReceivedRecord(topic="shop-delay", partition=0, offset=0)) == 0
