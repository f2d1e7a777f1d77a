"""A topic of its own for each test, and a proxy of their own for the tests that disturb it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcEventManager
from tests.adapters.rocketmq_grpc.shop import a_topic, an_event_manager
from tests.services.disposable import disposable
from tests.services.service import Service


@pytest.fixture
def topic() -> str:
    return a_topic()


@pytest.fixture
def events(topic: str) -> Iterator[RocketMqGrpcEventManager]:
    with an_event_manager(topic) as manager:
        yield manager


@pytest.fixture(scope="session")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A proxy that tests may freeze, kill and start; each leaves it running."""
    folder: Path = tmp_path_factory.mktemp("rocketmq-proxy")
    with disposable("rocketmq-proxy", folder) as service:
        yield service
