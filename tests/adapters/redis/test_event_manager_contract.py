"""The contracts of event managers, over a real Redis: one stream a topic, and three."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import attrs
import pytest
import redis

from pragmatic_ddd import DomainEvent, IEventManager
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.ports import IEventMetrics, OutboxMessage
from pragmatic_ddd.testing.broker import (
    BrokerBinding,
    BrokerContract,
    BrokerMessage,
    ContractOutbox,
)
from pragmatic_ddd.testing.broker_consuming import BrokerConsumingContract
from pragmatic_ddd.testing.broker_order import BrokerOrderContract
from pragmatic_ddd.testing.broker_subscribing import BrokerSubscribingContract
from pragmatic_ddd.testing.event_manager import EventManagerContract
from pragmatic_ddd_redis import RedisStreamsEventManager
from pragmatic_ddd_redis.stream_entry import PREFIX
from pragmatic_ddd_redis.streams import stream_of
from tests.adapters.redis.shop import a_config, entries, forget, unique, url_at
from tests.broker_parts import contract_encoding, contract_outbox, contract_serializer
from tests.tcp_gate import TcpGate

_ATTEMPTS = 3
_DELAY = dt.timedelta(seconds=1)
_PAUSE = dt.timedelta(milliseconds=100)
_LARGEST_BODY_BYTES = 100_000


@attrs.define(eq=False)
class RedisUnderTest:
    """Redis behind a gate, with a topic and a group that no other test uses."""

    client: "redis.Redis"
    gate: TcpGate
    partitions: int
    topic: str = attrs.field(factory=lambda: unique("contract"), init=False)
    group: str = attrs.field(factory=lambda: unique("contract"), init=False)
    _managers: list[IEventManager] = attrs.field(factory=list, init=False)

    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
        **changes: object,
    ) -> IEventManager:
        config = a_config(
            url=changes.pop("url", url_at(self.gate.port)),
            consumer_group=group or self.group,
            partitions=self.partitions,
            send_timeout=dt.timedelta(seconds=1),
            max_attempts=_ATTEMPTS,
            retry_backoff_base=_PAUSE,
            retry_backoff_cap=_PAUSE,
            delay=_DELAY,
            lease=dt.timedelta(seconds=3),
            largest_body_bytes=_LARGEST_BODY_BYTES,
            shutdown_timeout=dt.timedelta(seconds=2),
            **changes,
        )
        name = self.topic if topic is None else topic
        topics = ConfigurableTopicResolver(
            MappingConfigurationSource({"event.topic.default": name})
        )
        manager = RedisStreamsEventManager(config, contract_serializer(), topics)
        if metrics is not None:
            manager.metrics = metrics
        self._managers.append(manager)
        return manager

    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        found = entries(self.client, topic or self.topic, self.partitions)
        return [_message(fields) for fields in found]

    def dead_letters(self) -> Sequence[BrokerMessage]:
        return [_message(fields) for fields in entries(self.client, f"{self.group}-dead-letter")]

    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        fields = {f"{PREFIX}{name}": value for name, value in attributes.items()}
        self.client.xadd(
            stream_of(self.topic, "p-1", self.partitions),
            {**fields, "data": body},  # type: ignore[dict-item]  # of two types, both allowed
        )

    def outage(self) -> AbstractContextManager[None]:
        return self.gate.shut()

    def silence(self) -> AbstractContextManager[None]:
        return self.gate.silent()

    def clean_up(self) -> None:
        for manager in self._managers:
            manager.shutdown()
        forget(self.client, self.topic, self.group)


class RedisBinding(BrokerBinding):
    """Binds the contracts to a real server."""

    attempts = _ATTEMPTS
    delay = _DELAY
    largest_body_bytes = _LARGEST_BODY_BYTES
    misnamed_topic = "shop:7"
    partitions: ClassVar[int] = 1

    @pytest.fixture
    def broker(self, client: "redis.Redis", gate: TcpGate) -> Iterator[RedisUnderTest]:
        broker = RedisUnderTest(client, gate, self.partitions)
        yield broker
        broker.clean_up()

    @pytest.fixture
    def unauthorised(self, broker: RedisUnderTest) -> IEventManager:
        """An account that may connect, and nothing else; not even ask for the settings."""
        url = f"redis://restricted:restricted@127.0.0.1:{broker.gate.port}"
        return broker.manager(url=url, durability="memory")

    @pytest.fixture
    def stored(self) -> Callable[[DomainEvent], OutboxMessage]:
        return contract_encoding()

    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Iterator[ContractOutbox]:
        with contract_outbox(tmp_path) as outbox:
            yield outbox


@pytest.mark.service("redis")
class TestRedisStreams(RedisBinding, EventManagerContract, BrokerContract):
    """A topic is a stream."""


@pytest.mark.service("redis")
class TestThreePartitions(
    RedisBinding, BrokerOrderContract, BrokerConsumingContract, BrokerSubscribingContract
):
    """A topic is three streams; publishing and outages are no different there."""

    partitions = 3


def _message(fields: Mapping[bytes, bytes]) -> BrokerMessage:
    texts = {name.decode(): value for name, value in fields.items()}
    return BrokerMessage(
        attributes={
            name.removeprefix(PREFIX): value.decode()
            for name, value in texts.items()
            if name.startswith(PREFIX)
        },
        body=texts["data"],
    )
