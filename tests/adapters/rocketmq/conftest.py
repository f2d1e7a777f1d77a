"""A topic of its own for each test, and an event manager that publishes to it."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd_rocketmq import RocketMqEventManager
from tests.adapters.rocketmq.shop import an_event_manager, unique, warm_up
from tests.services.admin import create_topic


@pytest.fixture
def topic() -> str:
    """A topic that consumers find at once: the client looks for new ones every 30 s."""
    topic = unique("events")
    create_topic(topic)
    return topic


@pytest.fixture
def events(topic: str) -> Iterator[RocketMqEventManager]:
    with an_event_manager(topic) as manager:
        warm_up(manager)
        yield manager
