"""A connection, and what has come on it."""

import datetime as dt
import time
from collections.abc import Iterator

import pytest

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.connector import Connector
from tests.adapters.rabbitmq.shop import a_config

pytestmark = pytest.mark.service("rabbitmq")

_BLOCKED = b"\x01\x00\x00" + b"\x00\x00\x00\x08" + b"\x00\x0a\x00\x3c\x03low" + b"\xce"


@pytest.fixture
def link() -> Iterator[BrokerLink]:
    config = a_config(heartbeat=dt.timedelta(minutes=1))
    made = Connector.of(config).connect("test", time.monotonic() + 5)
    yield made
    made.close(time.monotonic() + 5)


def test_what_came_together_with_an_answer_is_seen_in_the_next_turn(link: BrokerLink) -> None:
    link.transport._incoming += _BLOCKED

    link.turn()

    assert link.reason_of_block is not None
    assert link.failure is None
