"""The contracts of event managers over Kafka, on a broker behind a gate."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import attrs
import pytest
from confluent_kafka import Message

from pragmatic_ddd import DomainEvent, IEventManager
from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import IEventMetrics, OutboxMessage
from pragmatic_ddd.testing.broker import (
    BrokerContract,
    BrokerMessage,
    ContractOutbox,
    IBrokerUnderTest,
)
from pragmatic_ddd.testing.event_manager import EventManagerContract
from pragmatic_ddd_kafka import KafkaEventManager
from tests.adapters.kafka.gated_broker import GatedBroker
from tests.adapters.kafka.shop import (
    Topics,
    a_config,
    a_producer,
    a_record,
    as_user,
    headers,
    topics_of,
    unique,
)
from tests.broker_parts import contract_encoding, contract_outbox, contract_serializer

ATTEMPTS = 3
DELAY = dt.timedelta(seconds=1)
PAUSE = dt.timedelta(milliseconds=100)


@attrs.define(eq=False)
class KafkaUnderTest(IBrokerUnderTest):
    """A topic and a group of their own, on a broker that may be cut off."""

    gated: GatedBroker
    topic: str = attrs.field(factory=lambda: unique("contract"))
    group: str = attrs.field(factory=lambda: unique("contract"))
    managers: list[KafkaEventManager] = attrs.field(factory=list, init=False)
    groups: set[str] = attrs.field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.topics.create(self.topic)

    @property
    def topics(self) -> Topics:
        return Topics(self.gated.url)

    @property
    def sasl_servers(self) -> str:
        _, _, sasl = self.gated.service.server.ports
        return sasl.address

    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
        **settings: object,
    ) -> KafkaEventManager:
        group = group or self.group
        if group not in self.groups:
            self.topics.create(f"{group}-dead-letter", f"{group}-delay")
            self.groups.add(group)
        usual = {
            "bootstrap_servers": self.gated.url,
            "consumer_group": group,
            "max_attempts": ATTEMPTS,
            "retry_backoff_base": PAUSE,
            "retry_backoff_cap": PAUSE,
            "delay": DELAY,
            "shutdown_timeout": dt.timedelta(seconds=2),
        }
        config = a_config(**{**usual, **settings})
        manager = KafkaEventManager(
            config, contract_serializer(), topics_of(self.topic if topic is None else topic)
        )
        if metrics is not None:
            manager.metrics = metrics
        self.managers.append(manager)
        return manager

    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        return [_as_anybody_reads(message) for message in self.topics.read(topic or self.topic)]

    def dead_letters(self) -> Sequence[BrokerMessage]:
        return self.messages(f"{self.group}-dead-letter")

    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        names = {"datacontenttype": "content-type"}
        producer = a_producer(bootstrap_servers=self.gated.url)
        producer.start()
        producer.send(
            a_record(
                self.topic,
                key=b"p-1",
                value=body,
                headers=[
                    (names.get(name, f"ce_{name}"), value.encode())
                    for name, value in attributes.items()
                ],
            )
        )
        producer.close(within=dt.timedelta(seconds=1))

    def outage(self) -> AbstractContextManager[None]:
        return self.gated.gate.shut()

    def silence(self) -> AbstractContextManager[None]:
        return self.gated.gate.silent()


def _as_anybody_reads(message: Message) -> BrokerMessage:
    names = {"content-type": "datacontenttype"}
    attributes = {
        names.get(name, name.removeprefix("ce_")): value
        for name, value in headers(message).items()
        if name in names or name.startswith("ce_")
    }
    return BrokerMessage(attributes=attributes, body=message.value() or b"")


@pytest.mark.service("kafka")
class TestKafka(EventManagerContract, BrokerContract):
    patience = dt.timedelta(seconds=60)
    attempts = ATTEMPTS
    delay = DELAY
    largest_body_bytes = 1_000_000
    misnamed_topic = "contract/parcels"
    error_of_missing_topic = EventPublishError

    @pytest.fixture
    def broker(self, gated: GatedBroker) -> Iterator[KafkaUnderTest]:
        broker = KafkaUnderTest(gated)
        yield broker
        for manager in broker.managers:
            manager.shutdown()

    @pytest.fixture
    def unauthorised(self, broker: KafkaUnderTest) -> IEventManager:
        return broker.manager(**as_user("restricted", "restricted", at=broker.sasl_servers))

    @pytest.fixture
    def stored(self) -> Callable[[DomainEvent], OutboxMessage]:
        return contract_encoding()

    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Iterator[ContractOutbox]:
        with contract_outbox(tmp_path) as outbox:
            yield outbox


def test_it_is_an_event_manager() -> None:
    manager: IEventManager = KafkaEventManager(
        a_config(), contract_serializer(), topics_of("events")
    )

    assert manager.side_by_side >= 1
    assert manager.longest_call == dt.timedelta(seconds=5)
