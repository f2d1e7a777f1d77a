"""Names of its own for each test, and an event manager that publishes."""

from collections.abc import Iterator

import pytest

from pragmatic_ddd_rabbitmq import RabbitMqEventManager
from tests.adapters.rabbitmq.shop import an_event_manager
from tests.adapters.rabbitmq.space import Space, a_space


@pytest.fixture
def space() -> Iterator[Space]:
    with a_space() as space:
        yield space


@pytest.fixture
def events(space: Space) -> Iterator[RabbitMqEventManager]:
    """An event manager that publishes, and a queue that takes everything."""
    space.keep_everything()
    with an_event_manager(space.exchange) as manager:
        yield manager
