"""How every event manager over a broker publishes.

    publish ──encode──┐
    publish_stored ───┴──▶ topic ──┐
    publish_to ────────────────────┴──▶ _send ──▶ Receipt

Each is one try, which the caller may repeat.
"""

import contextlib
import datetime as dt
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import attrs

from pragmatic_ddd.application.arguments import implements
from pragmatic_ddd.application.events.addressee import EVERYBODY, Addressee
from pragmatic_ddd.application.events.wire_attributes import DEFAULT_SOURCE, is_source
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventSerializationError,
)
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.message_headers import OPERATION_CODE
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver

_NO_TOPIC = "(none)"
FORKED = (
    "it was started before this process was forked: start it in the worker, never before the fork"
)


@attrs.define(eq=False)
class BrokerPublisher(ABC):
    """The half of a ``BrokerEventManager`` that publishes.

    Attributes:
        serializer: Writes and reads events.
        topics: Which event goes where.
        metrics: What is counted.
        source: Who sends: a URI reference, such as ``/shop`` or ``https://shop.example``. Every
            message carries it.
    """

    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    metrics: IEventMetrics = attrs.field(
        factory=NoMetrics, validator=implements(IEventMetrics), kw_only=True
    )
    source: str = attrs.field(default=DEFAULT_SOURCE, validator=is_source, kw_only=True)
    _process_id: int = attrs.field(default=0, init=False)  # of the process that connected

    @property
    @abstractmethod
    def longest_call(self) -> dt.timedelta:
        """See ``IStoredEventPublisher``."""

    @property
    @abstractmethod
    def side_by_side(self) -> int:
        """See ``IStoredEventPublisher``."""

    @property
    @abstractmethod
    def durability(self) -> Durability:
        """What a confirmed event survives, at the least; chosen in the config."""

    @abstractmethod
    def _checked_topic(self, topic: str) -> str:
        """Return a topic that the broker allows.

        Raises:
            ValueError: It does not; says the rule.
        """

    @abstractmethod
    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        """Send a message, once; return when the broker has confirmed what ``durability`` says.

        Called from any thread, also before the start and after the shutdown, and by handlers
        while ``_connect`` and ``_disconnect`` are at work; never in a forked child.

        Args:
            message: The event as it was stored.
            topic: Where it goes; allowed by ``_checked_topic``.
            addressee: Whom it is for.

        Raises:
            BrokerUnavailableError: Not connected, or the broker cannot be reached; such as
                ``_unavailable`` returns.
            EventRejectedError: The broker will never take it; it was not sent.
            EventUnconfirmedError: It may or may not have been delivered.
            EventPublishError: It failed by its own fault, and may succeed later.
        """

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        """Publish one event; see ``IEventPublisher``."""
        message = self._encoded(event)
        addressee = EVERYBODY
        if subscriber is not None:
            addressee = Addressee(subscriber=subscriber, only_this=only_this)
        with self._counting(message):
            return self._publish(message, self._topic_of(message, addressee), addressee)

    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        """Publish events in order; see ``IEventPublisher``."""
        return [self.publish(event) for event in events]

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        """Publish what was stored; see ``IStoredEventPublisher``."""
        return self._publish(message, self._topic_of(message), EVERYBODY)

    def publish_to(self, topic: str, message: OutboxMessage) -> Receipt:
        """Publish a message to a topic; see ``ITopicPublisher``."""
        checked = self._checked_topic(topic)
        with self._counting(message):
            return self._publish(message, checked, EVERYBODY)

    def _topic_of(self, message: OutboxMessage, addressee: Addressee = EVERYBODY) -> str:
        """Return where a message goes.

        Raises:
            EventPublishError: No topic is set, or one that is not allowed: a setting is wrong,
                not the message, and a deploy may mend it.
        """
        try:
            topic = self.topics.resolve(message.event_type, subscriber=addressee.subscriber)
            return self._checked_topic(topic)
        except (ConfigurationError, ValueError) as error:
            raise EventPublishError(message.message_id, _NO_TOPIC, str(error)) from error

    def _is_of_another_process(self) -> bool:
        return self._process_id not in (0, os.getpid())

    def _encoded(self, event: DomainEvent) -> OutboxMessage:
        if not event.aggregate_id:  # one of another system's that no message has brought
            raise EventSerializationError(
                event.event_type, "aggregate_id", "it is empty: say what the event is about"
            )
        code = event.operation_code
        return OutboxMessage(
            message_id=event.event_id,
            aggregate_type="",  # known where an aggregate raises it, not here
            aggregate_id=event.aggregate_id,
            aggregate_version=event.aggregate_version or None,
            event_index=event.event_index,
            event_type=event.event_type,
            event_version=event.event_version,
            payload=self.serializer.serialize(event),
            headers={} if code is None else {OPERATION_CODE: code},
        )

    @contextlib.contextmanager
    def _counting(self, message: OutboxMessage) -> Iterator[None]:
        """Count what is published without an outbox."""
        try:
            yield
        except EventPublishError:
            self.metrics.publish_failed(message.event_type, PublishPath.DIRECT, counted=False)
            raise
        self.metrics.published(message.event_type, PublishPath.DIRECT)

    def _publish(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        if self._is_of_another_process():
            raise BrokerUnavailableError(message.message_id, topic, FORKED)
        return self._send(message, topic, addressee)
