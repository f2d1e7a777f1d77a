"""The contracts of event managers over RabbitMQ: each test has an exchange and a group."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import attrs
import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import IEventMetrics
from pragmatic_ddd.testing.broker import BrokerContract
from pragmatic_ddd.testing.broker_binding import (
    BrokerMessage,
    ContractOutbox,
    Stored,
)
from pragmatic_ddd.testing.event_manager import EventManagerContract
from pragmatic_ddd_rabbitmq import RabbitMqEventManager
from pragmatic_ddd_rabbitmq.received_message import text_of
from tests import servers
from tests.adapters.rabbitmq.any_client import Found
from tests.adapters.rabbitmq.shop import a_config
from tests.adapters.rabbitmq.space import Space, a_space
from tests.broker_parts import contract_encoding, contract_outbox, contract_serializer
from tests.tcp_gate import TcpGate

_LARGEST_BODY_BYTES = 300_000
_PREFIX = "cloudEvents_"
_PARCEL_SENT = "contract.parcel.sent"


@attrs.define(eq=False)
class RabbitMqUnderTest:
    """The broker behind a gate."""

    space: Space
    gate: TcpGate
    settings: dict[str, Any]
    _managers: list[RabbitMqEventManager] = attrs.field(factory=list, init=False)

    @property
    def topic(self) -> str:
        return self.space.exchange

    @property
    def group(self) -> str:
        return self.space.group

    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
        login: str = "guest",
    ) -> RabbitMqEventManager:
        topic = self.topic if topic is None else self.space.also_exchange(topic)
        group = self.group if group is None else self.space.also_group(group)
        made = RabbitMqEventManager(
            a_config(
                url=f"amqp://{login}:{login}@127.0.0.1:{self.gate.port}/",
                consumer_group=group,
                retry_backoff_base=dt.timedelta(milliseconds=100),
                retry_backoff_cap=dt.timedelta(milliseconds=100),
                delay=dt.timedelta(seconds=1),
                shutdown_timeout=dt.timedelta(seconds=2),
                connect_timeout=dt.timedelta(seconds=2),
                confirm_timeout=dt.timedelta(seconds=2),
                largest_body_bytes=_LARGEST_BODY_BYTES,
                **self.settings,
            ),
            contract_serializer(),
            ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic})),
            metrics=metrics or NoMetrics(),
        )
        self._managers.append(made)
        return made

    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        assert topic is None
        return [_told(found) for found in self.space.client.messages(self.space.everything)]

    def dead_letters(self) -> Sequence[BrokerMessage]:
        queue = f"{self.group}-dead-letter"
        if not self.space.client.has_queue(queue):
            return []
        return [_told(found) for found in self.space.client.messages(queue)]

    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        headers = {_PREFIX + name: value for name, value in attributes.items()}
        self.space.client.publish(self.topic, _PARCEL_SENT, body, headers)

    def outage(self) -> AbstractContextManager[None]:
        return self.gate.shut()

    def silence(self) -> AbstractContextManager[None]:
        return self.gate.silent()

    def shut_down(self) -> None:
        for manager in self._managers:
            manager.shutdown()


def _told(found: Found) -> BrokerMessage:
    attributes = {
        name.removeprefix(_PREFIX): text_of(value)
        for name, value in found.headers.items()
        if name.startswith(_PREFIX)
    }
    attributes["datacontenttype"] = found.properties.get("content_type", "")
    return BrokerMessage(attributes=attributes, body=found.body)


@contextmanager
def _rabbitmq(**settings: Any) -> Iterator[RabbitMqUnderTest]:  # noqa: ANN401
    server = urlsplit(servers.rabbitmq_url())
    with a_space() as space, TcpGate((server.hostname or "", server.port or 0)) as gate:
        space.keep_everything()
        broker = RabbitMqUnderTest(space, gate, settings)
        try:
            yield broker
        finally:
            broker.shut_down()


class _RabbitMq(EventManagerContract, BrokerContract):
    works_in_process = False
    largest_body_bytes = _LARGEST_BODY_BYTES
    misnamed_topic = "amq.events"
    error_of_missing_topic = EventPublishError  # no queue is bound to it
    keeps_for_new_groups = False  # an exchange keeps nothing
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def broker(self) -> Iterator[RabbitMqUnderTest]:
        with _rabbitmq(**self.settings) as broker:
            yield broker

    @pytest.fixture
    def unauthorised(self, broker: RabbitMqUnderTest) -> RabbitMqEventManager:
        return broker.manager(login="restricted")

    @pytest.fixture
    def stored(self) -> Stored:
        return contract_encoding()

    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Iterator[ContractOutbox]:
        with contract_outbox(tmp_path) as outbox:
            yield outbox


@pytest.mark.service("rabbitmq")
class TestQuorumQueue(_RabbitMq):
    """One quorum queue for the group, as by default."""


@pytest.mark.service("rabbitmq")
class TestClassicQueues(_RabbitMq):
    """Several classic queues, among which a consistent-hash exchange divides."""

    settings: ClassVar[dict[str, Any]] = {"durability": "classic", "queues": 3}
