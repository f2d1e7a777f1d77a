"""The contracts of event managers over RocketMQ's proxy, behind a gate of each test's own."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import IEventMetrics, OutboxMessage
from pragmatic_ddd.testing.broker import BrokerContract, BrokerMessage, ContractOutbox
from pragmatic_ddd.testing.event_manager import EventManagerContract
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcEventManager
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.producer import Producer
from tests.adapters.rocketmq_grpc.shop import (
    BRIEFLY_INVISIBLE,
    a_config,
    a_connection,
    a_topic,
    unique,
)
from tests.broker_parts import contract_encoding, contract_outbox, contract_serializer
from tests.services.admin import MessageType, create_consumer_group, create_topic
from tests.services.rocketmq_messages import StoredMessage, stored_messages
from tests.services.service import Service
from tests.tcp_gate import TcpGate

_ATTEMPTS = 3
_DELAY = dt.timedelta(seconds=2)
_PREFIX = "ce_"


def _as_any_client_reads_it(message: StoredMessage) -> BrokerMessage:
    attributes = {
        name.removeprefix(_PREFIX): value
        for name, value in message.properties.items()
        if name.startswith(_PREFIX)
    }
    return BrokerMessage(attributes=attributes, body=message.body)


@attrs.define(eq=False)
class GatedProxy:
    """A proxy behind a gate, a topic and a group; implements ``IBrokerUnderTest``."""

    gate: TcpGate
    topic: str = attrs.field(factory=a_topic, init=False)
    group: str = attrs.field(factory=lambda: unique("contract"), init=False)
    _made_groups: set[str] = attrs.field(factory=set, init=False)
    _managers: list[RocketMqGrpcEventManager] = attrs.field(factory=list, init=False)

    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
    ) -> RocketMqGrpcEventManager:
        topics = {"event.topic.default": self.topic if topic is None else topic}
        manager = RocketMqGrpcEventManager(
            a_config(
                endpoints=f"127.0.0.1:{self.gate.port}",
                consumer_group=self._made(group or self.group),
                invisible_time=BRIEFLY_INVISIBLE,
                send_timeout=dt.timedelta(seconds=2),
                max_reconsume_times=_ATTEMPTS - 1,
                reconsume_backoff_cap=dt.timedelta(seconds=0.1),
                delay=_DELAY,
                shutdown_timeout=dt.timedelta(seconds=2),
            ),
            contract_serializer(),
            ConfigurableTopicResolver(MappingConfigurationSource(topics)),
            metrics=metrics or NoMetrics(),
        )
        self._managers.append(manager)
        return manager

    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        return [_as_any_client_reads_it(each) for each in stored_messages(topic or self.topic)]

    def dead_letters(self) -> Sequence[BrokerMessage]:
        return self.messages(f"{self.group}-dead-letter")

    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        producer = Producer(connection=a_connection(), window=1)
        producer.start()
        try:
            producer.send(
                OutgoingMessage(
                    topic=self.topic,
                    body=body,
                    message_group="p-1",
                    key="foreign",
                    tag="foreign",
                    properties={_PREFIX + name: value for name, value in attributes.items()},
                )
            )
        finally:
            producer.close(within=dt.timedelta(seconds=3))

    def outage(self) -> AbstractContextManager[None]:
        return self.gate.shut()

    def silence(self) -> AbstractContextManager[None]:
        return self.gate.silent()

    def take_down(self) -> None:
        for manager in self._managers:
            manager.shutdown()

    def _made(self, group: str) -> str:
        if group not in self._made_groups:
            create_consumer_group(group, orderly=True)
            create_topic(f"{group}-dead-letter", 1, message_type=MessageType.FIFO)
            create_topic(f"{group}-delay", 1, message_type=MessageType.DELAY)
            self._made_groups.add(group)
        return group


@pytest.mark.service("rocketmq-grpc")
class TestRocketMqGrpc(EventManagerContract, BrokerContract):
    """Nobody is refused here for want of rights: the broker of the tests keeps no accounts.

    What a proxy answers that asks for one has ``test_account``; what it means that a right is
    missing has ``test_answers``.
    """

    patience: ClassVar[dt.timedelta] = dt.timedelta(seconds=60)
    attempts: ClassVar[int] = _ATTEMPTS
    delay: ClassVar[dt.timedelta | None] = _DELAY
    largest_body_bytes: ClassVar[int | None] = 4 * 1024 * 1024
    misnamed_topic: ClassVar[str | None] = "shop.events"
    error_of_missing_topic: ClassVar[type[EventPublishError] | None] = EventPublishError
    keeps_for_new_groups: ClassVar[bool] = False

    @pytest.fixture
    def broker(self, proxy: Service) -> Iterator[GatedProxy]:
        port = proxy.server.ports[0].number
        with TcpGate(("127.0.0.1", port)) as gate:
            broker = GatedProxy(gate)
            yield broker
            broker.take_down()

    @pytest.fixture
    def stored(self) -> Callable[[DomainEvent], OutboxMessage]:
        return contract_encoding()

    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Iterator[ContractOutbox]:
        with contract_outbox(tmp_path) as outbox:
            yield outbox
