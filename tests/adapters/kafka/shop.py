"""A small shop on Kafka: its events, how they are written, its event manager, and its topics."""

import datetime as dt
import json
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, UnknownEventTypeError
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_kafka import KafkaConfig, KafkaEventManager
from pragmatic_ddd_kafka.client_properties import producer_properties
from pragmatic_ddd_kafka.kafka_producer import KafkaProducer
from pragmatic_ddd_kafka.record import OutgoingRecord
from tests import servers

_PATIENCE_SECONDS = 20

PATIENCE_SECONDS = 40.0

_GLANCE_SECONDS = 0.02
_REQUEST_SECONDS = 10.0


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    note: str = ""


class OrderPaid(DomainEvent, name="shop.order.paid", aliases=("shop.order.settled",)):
    total: int = 0


_EVENTS: dict[str, type[DomainEvent]] = {
    "shop.order.placed": OrderPlaced,
    "shop.order.paid": OrderPaid,
    "shop.order.settled": OrderPaid,
}


class ShopSerializer:
    """Just enough JSON for the two events above."""

    def serialize(self, event: DomainEvent) -> bytes:
        fields: dict[str, Any] = {"aggregate_id": event.aggregate_id, "event_id": event.event_id}
        for name in ("note", "total"):
            if hasattr(event, name):
                fields[name] = getattr(event, name)
        return json.dumps(fields, ensure_ascii=False).encode()

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        if event_type not in _EVENTS or event_version > 1:
            raise UnknownEventTypeError(event_type, event_version)
        try:
            return _EVENTS[event_type](**json.loads(payload))
        except ValueError as error:
            raise EventDeserializationError(event_type, "", str(error)) from error


def unique(name: str) -> str:
    """Return a name that no other test and no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def a_config(**changes: Any) -> KafkaConfig:  # noqa: ANN401
    settings: dict[str, Any] = {
        "bootstrap_servers": servers.kafka_bootstrap(),
        "retry_backoff_base": dt.timedelta(milliseconds=100),
        "session_timeout": dt.timedelta(seconds=6),
        "shutdown_timeout": dt.timedelta(seconds=5),
    }
    return KafkaConfig(**{**settings, **changes})


def as_user(name: str, password: str, *, at: str) -> dict[str, Any]:
    """Return the settings of a client that says who it is, to brokers that ask."""
    return {
        "bootstrap_servers": at,
        "security_protocol": "sasl_plaintext",
        "sasl_mechanism": "PLAIN",
        "sasl_username": name,
        "sasl_password": password,
    }


def topics_of(topic: str) -> ConfigurableTopicResolver:
    return ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))


def an_event_manager(topic: str, **changes: Any) -> KafkaEventManager:  # noqa: ANN401
    return KafkaEventManager(a_config(**changes), ShopSerializer(), topics_of(topic))


def a_producer(**changes: Any) -> KafkaProducer:  # noqa: ANN401
    config = a_config(**changes)
    return KafkaProducer(properties=producer_properties(config), send_timeout=config.send_timeout)


def a_record(topic: str, **changes: Any) -> OutgoingRecord:  # noqa: ANN401
    fields: dict[str, Any] = {"topic": topic, "key": b"order-1", "value": b"{}"}
    return OutgoingRecord(**{**fields, **changes})


def a_stored_event(**changes: Any) -> OutboxMessage:  # noqa: ANN401
    fields: dict[str, Any] = {
        "message_id": unique("event"),
        "aggregate_type": "shop.order",
        "aggregate_id": "order-1",
        "aggregate_version": 3,
        "event_index": 1,
        "event_type": "shop.order.paid",
        "event_version": 1,
        "payload": b'{"aggregate_id": "order-1", "total": 5}',
        "headers": {},
    }
    return OutboxMessage(**{**fields, **changes})


def wait_until(
    is_so: Callable[[], object],
    shown: Callable[[], object] = lambda: "",
    *,
    seconds: float = PATIENCE_SECONDS,
) -> None:
    """Wait for something that nobody tells; fail with what is shown in place of it."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not in time: {shown()}"
        time.sleep(_GLANCE_SECONDS)


@attrs.frozen
class Topics:
    """The topics of one broker, as its administrator sees them.

    Attributes:
        servers: Its address.
    """

    servers: str

    def create(self, *topics: str, partitions: int = 3, **settings: str) -> None:
        """Create topics, and return when they are there; ``_`` in a setting stands for ``.``."""
        config = {name.replace("_", "."): value for name, value in settings.items()}
        new = [NewTopic(topic, partitions, 1, config=config) for topic in topics]
        # A client that met a broker without a controller waits for it too long: another one asks.
        wait_until(lambda: _are_created(self._admin(), new))
        admin = self._admin()
        wait_until(lambda: set(topics) <= set(admin.list_topics(timeout=10).topics))

    def exist(self, topic: str) -> bool:
        """Say whether there is such a topic."""
        return topic in self._admin().list_topics(timeout=10).topics

    def read(self, topic: str) -> list[Message]:
        """Return what lies on a topic now, oldest first in each partition; consumes nothing."""
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": unique("reader"),
            "enable.auto.commit": False,
        }
        reader = Consumer(settings)
        try:
            found = reader.list_topics(topic, timeout=10).topics[topic]
            places = [TopicPartition(topic, number, 0) for number in found.partitions]
            ends = {place.partition: _end(reader, place) for place in places}
            reader.assign([place for place in places if ends[place.partition] > 0])
            return sorted(
                _read(reader, sum(ends.values())),
                key=lambda message: (message.partition() or 0, message.offset() or 0),
            )
        finally:
            reader.close()

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return by partition which offset a group would go on with; empty where it has none."""
        reader = Consumer({"bootstrap.servers": self.servers, "group.id": group})
        try:
            found = reader.list_topics(topic, timeout=10).topics[topic]
            places = [TopicPartition(topic, number) for number in found.partitions]
            committed = reader.committed(places, timeout=10)
            return {each.partition: each.offset for each in committed if each.offset >= 0}
        finally:
            reader.close()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})


def _are_created(admin: AdminClient, topics: list[NewTopic]) -> bool:
    """Create topics; say whether they are there. A broker that has just come up takes none yet."""
    are_created = True
    for created in admin.create_topics(topics, request_timeout=_REQUEST_SECONDS).values():
        try:
            created.result()
        except KafkaException as error:
            code = error.args[0].code()
            if code in {KafkaError.INVALID_REPLICATION_FACTOR, KafkaError._TIMED_OUT}:
                are_created = False
            elif code != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    return are_created


def values(messages: Sequence[Message]) -> list[bytes]:
    """Return the contents of messages."""
    return [message.value() or b"" for message in messages]


def headers(message: Message) -> dict[str, str]:
    """Return the headers of a message as text."""
    pairs = message.headers() or []
    assert isinstance(pairs, list)
    return {
        name: value.decode() if isinstance(value, bytes) else str(value) for name, value in pairs
    }


def _end(reader: Consumer, place: TopicPartition) -> int:
    """Return where a partition ends; a new one may have no leader for a moment."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            _, end = reader.get_watermark_offsets(place, timeout=10)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return end


def _read(reader: Consumer, count: int) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} read"
        message = reader.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        found.append(message)
    return found
