"""A topic of its own for each test, and an event manager that publishes to it."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pragmatic_ddd_kafka import KafkaEventManager
from tests import servers
from tests.adapters.kafka.gated_broker import GatedBroker, gated_broker
from tests.adapters.kafka.shop import Topics, an_event_manager, unique
from tests.adapters.kafka.stage import Stage
from tests.services.service import Service


@pytest.fixture
def topics() -> Topics:
    return Topics(servers.kafka_bootstrap())


@pytest.fixture
def topic(topics: Topics) -> str:
    topic = unique("events")
    topics.create(topic)
    return topic


@pytest.fixture
def group(topics: Topics) -> str:
    """A consumer group with topics for its dead letters and its delayed copies."""
    group = unique("shop")
    topics.create(f"{group}-dead-letter", f"{group}-delay")
    return group


@pytest.fixture
def events(topic: str) -> Iterator[KafkaEventManager]:
    with an_event_manager(topic) as manager:
        yield manager


@pytest.fixture(scope="package")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedBroker]:
    """A broker that these tests may kill, freeze and cut off; each leaves it as it was."""
    with gated_broker(tmp_path_factory.mktemp("broker") / "kafka") as broker:
        yield broker


@pytest.fixture(scope="package")
def own_broker(gated: GatedBroker) -> Service:
    """The server of that broker."""
    return gated.service


@pytest.fixture
def stage(topics: Topics, topic: str, group: str, events: KafkaEventManager) -> Iterator[Stage]:
    with ExitStack() as members:
        yield Stage(topics, topic, group, events, members)
