"""The contracts of event managers over RocketMQ's remoting protocol, behind gates of each test's.

producer, consumer ──▶ TcpGate ──▶ name server, which names the other gate in place of the broker
                   └─▶ TcpGate ──▶ broker
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.ports import IEventMetrics, OutboxMessage
from pragmatic_ddd.testing.broker import BrokerContract, BrokerMessage, ContractOutbox
from pragmatic_ddd.testing.event_manager import EventManagerContract
from pragmatic_ddd_rocketmq import RocketMqEventManager
from pragmatic_ddd_rocketmq.event_message import PREFIX
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import LARGEST_BODY_BYTES
from tests import servers
from tests.adapters.rocketmq.shop import a_config, a_library, a_message, name_servers, unique
from tests.adapters.rocketmq.shop import warm_up as warmed_up
from tests.adapters.rocketmq.stand_in import renaming_name_server
from tests.broker_parts import contract_encoding, contract_outbox, contract_serializer
from tests.services.admin import create_topic
from tests.services.rocketmq import broker_port
from tests.services.rocketmq_messages import StoredMessage, stored_messages
from tests.tcp_gate import TcpGate

_ATTEMPTS = 3
_DELAY = dt.timedelta(seconds=1)
_DELAY_LEVEL = 1  # of the broker's: 1 s
_PAUSE = dt.timedelta(milliseconds=100)
_QUEUES = 4


class WarmedUp(RocketMqEventManager):
    """An event manager whose start includes its first send, which may fail on a busy machine.

    Attributes:
        warm_up: Sends it.
    """

    warm_up: Callable[[NativeProducer], None]

    def start(self) -> None:
        super().start()
        if self._producer is not None:
            self.warm_up(self._producer)


def _as_any_client_reads_it(message: StoredMessage) -> BrokerMessage:
    attributes = {
        name.removeprefix(PREFIX): value
        for name, value in message.properties.items()
        if name.startswith(PREFIX)
    }
    return BrokerMessage(attributes=attributes, body=message.body)


@attrs.define(eq=False)
class GatedBroker:
    """A name server and a broker behind gates; implements ``IBrokerUnderTest``."""

    names: TcpGate
    gate: TcpGate
    topic: str = attrs.field(factory=lambda: unique("contract"), init=False)
    group: str = attrs.field(factory=lambda: unique("contract"), init=False)
    _made_groups: set[str] = attrs.field(factory=set, init=False)
    _managers: list[RocketMqEventManager] = attrs.field(factory=list, init=False)
    _is_away: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        create_topic(self.topic, _QUEUES)

    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
    ) -> RocketMqEventManager:
        config = a_config(
            name_server=f"127.0.0.1:{self.names.port}",
            consumer_group=self._made(group or self.group),
            send_msg_timeout=dt.timedelta(seconds=2),
            max_reconsume_times=_ATTEMPTS - 1,
            reconsume_backoff_base=_PAUSE,
            reconsume_backoff_cap=_PAUSE,
            default_delay_level=_DELAY_LEVEL,
            shutdown_timeout=dt.timedelta(seconds=2),
        )
        topics = {"event.topic.default": self.topic if topic is None else topic}
        manager = WarmedUp(
            config,
            contract_serializer(),
            ConfigurableTopicResolver(MappingConfigurationSource(topics)),
        )
        manager.warm_up = self._warm_up
        if metrics is not None:
            manager.metrics = metrics
        self._managers.append(manager)
        return manager

    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        return [_as_any_client_reads_it(each) for each in stored_messages(topic or self.topic)]

    def dead_letters(self) -> Sequence[BrokerMessage]:
        return self.messages(f"{self.group}-dead-letter")

    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        producer = NativeProducer(
            library=a_library(),
            name_servers=name_servers(),
            group=unique("stranger"),
            send_timeout=dt.timedelta(seconds=3),
        )
        producer.start()
        try:
            warmed_up(producer, self.topic)
            producer.send(
                a_message(
                    topic=self.topic,
                    body=body,
                    sharding_key="p-1",
                    properties={PREFIX + name: value for name, value in attributes.items()},
                )
            )
        finally:
            producer.close(within=dt.timedelta(seconds=3))

    @contextmanager
    def outage(self) -> Iterator[None]:
        self._is_away = True
        try:
            with self.names.shut(), self.gate.shut():
                yield
        finally:
            self._is_away = False

    @contextmanager
    def silence(self) -> Iterator[None]:
        with self.names.silent(), self.gate.silent():
            yield

    def take_down(self) -> None:
        for manager in self._managers:
            manager.shutdown()

    def _made(self, group: str) -> str:
        if group not in self._made_groups:
            create_topic(f"{group}-dead-letter", 1)
            self._made_groups.add(group)
        return group

    def _warm_up(self, producer: NativeProducer) -> None:
        if not self._is_away:
            warmed_up(producer, self.topic)


@pytest.mark.service("rocketmq")
class TestRocketMq(EventManagerContract, BrokerContract):
    """What the native client cannot do is said here.

    A consumer goes on where it was when the broker is back, after half a minute: the request that
    was under way has to time out first. The client that tests have cannot shut a consumer down, so
    that a member hands over when its process ends; ``test_event_consumption`` and
    ``test_native_consumer`` try that, in processes of their own. And it gives every refusal the
    same text: a right that is missing looks like a broker that does not confirm, so that there is
    no error for it to try; the broker of the tests keeps no accounts either.
    """

    patience: ClassVar[dt.timedelta] = dt.timedelta(seconds=90)
    attempts: ClassVar[int] = _ATTEMPTS
    delay: ClassVar[dt.timedelta | None] = _DELAY
    largest_body_bytes: ClassVar[int | None] = LARGEST_BODY_BYTES
    misnamed_topic: ClassVar[str | None] = "shop.events"
    keeps_for_new_groups: ClassVar[bool] = False
    hands_over: ClassVar[bool] = False

    @pytest.fixture
    def broker(self) -> Iterator[GatedBroker]:
        host, _, port = servers.rocketmq_name_server().partition(":")
        real = broker_port()
        with ExitStack() as stack:
            gate = stack.enter_context(TcpGate(("127.0.0.1", real.number)))
            renaming = stack.enter_context(
                renaming_name_server((host, int(port)), real.address, f"127.0.0.1:{gate.port}")
            )
            broker = GatedBroker(stack.enter_context(TcpGate(renaming)), gate)
            yield broker
            broker.take_down()

    @pytest.fixture
    def stored(self) -> Callable[[DomainEvent], OutboxMessage]:
        return contract_encoding()

    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Iterator[ContractOutbox]:
        with contract_outbox(tmp_path) as outbox:
            yield outbox
