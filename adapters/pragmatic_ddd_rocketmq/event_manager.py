"""The event manager over RocketMQ's remoting protocol (4.x and 5.x brokers)."""

import datetime as dt
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import Dispatcher, Lifecycle, SubscriberRegistry
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import ConfigurationError, EventPublishError
from pragmatic_ddd.ports.events import Delivery, Receipt, Subscriber
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_rocketmq.config import RocketMqConfig
from pragmatic_ddd_rocketmq.dead_letters import DeadLetters
from pragmatic_ddd_rocketmq.errors import (
    NotConfirmedError,
    NotSentError,
    RefusedMessageError,
    translated,
)
from pragmatic_ddd_rocketmq.event_consumption import EventConsumption, is_final
from pragmatic_ddd_rocketmq.event_message import EVERYBODY, PROPERTIES, Addressee, outgoing
from pragmatic_ddd_rocketmq.first_sends import LONGEST_WAIT
from pragmatic_ddd_rocketmq.native_consumer import NativeConsumer
from pragmatic_ddd_rocketmq.native_library import NativeLibrary, load_native_library
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import checked_topic
from pragmatic_ddd_rocketmq.redelivery import Redeliveries

EventT = TypeVar("EventT", bound=DomainEvent)

_logger = logging.getLogger(__name__)

_OPERATION_CODE = "operation-code"
_CHECK_TIMEOUT_SECONDS = 3.0


@attrs.define(eq=False)
class RocketMqEventManager:
    """Publishes events to RocketMQ, and brings those of other processes to its subscribers.

    One event is one message on the event's topic; the aggregate's id chooses the queue, so that
    the events of an aggregate keep their order. Subscribers are called on the native client's
    threads, one event of a queue after the other; while one is tried again the queue waits. A
    subscriber that succeeded is not called again because another one failed, as long as the
    event stays in this process.

    Start it in the process that uses it, never before a fork. All processes of a consumer group
    must have subscribers for events of the same topics: the brokers divide a topic's queues among
    all of them, also among those that do not want it. A new topic is found within 30 s.

    A service that consumes ends its ``main`` with ``leave_process``: before librocketmq 2.2 a
    consumer cannot be shut down, keeps its queues until the process ends, and the next member of
    the group waits up to a minute for them.

    Attributes:
        config: How to reach the brokers.
        serializer: Writes and reads events.
        topics: Which event goes where.
        metrics: What is counted.
    """

    config: RocketMqConfig = attrs.field(validator=of_type(RocketMqConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    metrics: IEventMetrics = attrs.field(
        factory=NoMetrics, validator=implements(IEventMetrics), kw_only=True
    )
    _registry: SubscriberRegistry = attrs.field(factory=SubscriberRegistry, init=False)
    _lifecycle: Lifecycle = attrs.field(init=False)
    _names: dict[str, str] = attrs.field(factory=dict, init=False)
    _producer: NativeProducer | None = attrs.field(default=None, init=False)
    _consumer: NativeConsumer | None = attrs.field(default=None, init=False)
    _was_shut_down: bool = attrs.field(default=False, init=False)
    # Reentrant: a signal handler may shut it down while the main thread is starting it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._lifecycle = Lifecycle(type(self).__name__)
        reset_in_child(self._renew_lock)

    @property
    def longest_call(self) -> dt.timedelta:
        """The send timeout, and 1 s in which the first send to a topic may be waited for.

        A name server that accepts connections and never answers holds a call back for up to
        37 s more, as long as the route to a topic is not known yet.
        """
        return self.config.send_msg_timeout + LONGEST_WAIT

    @property
    def side_by_side(self) -> int:
        return self.config.sends_side_by_side

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        message = self._encoded(event)
        addressee = Addressee(subscriber=subscriber, only_this=only_this)
        try:
            receipt = self._publish(message, addressee)
        except EventPublishError:
            self.metrics.publish_failed(event.event_type, PublishPath.DIRECT, counted=False)
            raise
        self.metrics.published(event.event_type, PublishPath.DIRECT)
        return receipt

    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        return [self.publish(event) for event in events]

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        return self._publish(message, EVERYBODY)

    def register_subscriber(
        self,
        code: str,
        event_type: type[EventT],
        handler: Callable[[EventT], None],
        *,
        condition: Callable[[EventT], bool] | None = None,
        depends_on: Sequence[str] = (),
        delivery: Delivery = Delivery.IMMEDIATE,
    ) -> None:
        self._registry.register_subscriber(
            code,
            event_type,
            handler,
            condition=condition,
            depends_on=depends_on,
            delivery=delivery,
        )
        for name in (event_type.event_type, *event_type.event_aliases):
            self._names[name] = event_type.event_type

    def subscribers(self) -> Mapping[str, Sequence[Subscriber]]:
        return self._registry.subscribers()

    def dependencies(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return self._registry.dependencies()

    def start(self) -> None:
        """Connect, and begin to consume where there are subscribers; see ``ILifecycle``.

        Raises:
            ConfigurationError: There are subscribers and no consumer group, or a topic of
                theirs is not set or not allowed.
            NativeLibraryError: The client or its library cannot be loaded; says what to install.
            RocketMqStartError: It cannot connect now.
            SubscriptionError: A subscriber depends on one that does not exist.
        """
        with self._lock:
            if self._lifecycle.obstacle() is None:
                return
            self._registry.close()
            if not self._was_shut_down:
                self._connect()
            if self._was_shut_down:  # before, or by a signal handler meanwhile
                self._disconnect()
            self._lifecycle.start()

    def shutdown(self) -> None:
        with self._lock:
            self._was_shut_down = True
            self._disconnect()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def _encoded(self, event: DomainEvent) -> OutboxMessage:
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
            headers={} if code is None else {_OPERATION_CODE: code},
        )

    def _publish(self, message: OutboxMessage, addressee: Addressee) -> Receipt:
        topic = self._topic(message, addressee)
        try:
            receipt = self._started_producer().send(outgoing(message, topic, addressee))
        except (RefusedMessageError, NotSentError, NotConfirmedError) as error:
            raise translated(error, message.message_id, topic) from error
        return Receipt(f"{receipt.message_id} at offset {receipt.queue_offset} on {topic}")

    def _topic(self, message: OutboxMessage, addressee: Addressee) -> str:
        try:
            topic = self.topics.resolve(message.event_type, subscriber=addressee.subscriber)
            return checked_topic(topic)
        # A setting is wrong, not the message: a deploy may mend it, so that it comes again.
        except (ConfigurationError, RefusedMessageError) as error:
            raise EventPublishError(message.message_id, "(none)", str(error)) from error

    def _started_producer(self) -> NativeProducer:
        """Return the producer, which knows by itself when it was shut down or forked."""
        if self._producer is None:
            raise NotSentError(self._lifecycle.obstacle() or "it is being started")
        return self._producer

    def _connect(self) -> None:
        """Start producer and consumer, or neither."""
        consumed = self._consumed_topics()
        name_servers = self.config.name_servers
        if self.config.check_at_start:
            name_servers.resolved().brokers(timeout_seconds=_CHECK_TIMEOUT_SECONDS)
        library = load_native_library(self.config.library_path, self.config.log_folder_path)
        producer = NativeProducer(
            library=library,
            name_servers=name_servers,
            group=self.config.producer_group,
            send_timeout=self.config.send_msg_timeout,
            credentials=self.config.credentials,
        )
        producer.start()
        self._producer = producer  # handlers may publish at once
        try:
            self._consumer = self._started_consumer(library, producer, consumed)
        except BaseException:
            self._producer = None
            producer.close(within=self.longest_call)
            raise

    def _consumed_topics(self) -> list[str]:
        """Return the topics of all subscribers, each once.

        Raises:
            ConfigurationError: One is not set or not allowed, or there is no consumer group.
        """
        resolved: list[str] = []
        for name, event_type in self._names.items():
            try:
                resolved += self._topics_of(name, event_type)
            except ConfigurationError:
                if name == event_type:  # a former name may have no topic any more
                    raise
        if resolved and self.config.consumer_group is None:
            raise ConfigurationError(
                ["rocketmq.consumer-group: needed where there are subscribers"]
            )
        try:
            return [checked_topic(topic) for topic in dict.fromkeys(resolved)]
        except RefusedMessageError as error:
            raise ConfigurationError([str(error)]) from error

    def _topics_of(self, name: str, event_type: str) -> list[str]:
        codes = (None, *self._registry.of(event_type))
        return [self.topics.resolve(name, subscriber=code) for code in codes]

    def _started_consumer(
        self, library: NativeLibrary, producer: NativeProducer, topics: Sequence[str]
    ) -> NativeConsumer | None:
        group = self.config.consumer_group
        if not topics or group is None:
            return None
        redeliveries = Redeliveries(
            max_attempts=self.config.max_reconsume_times + 1,
            first_pause=self.config.reconsume_backoff_base,
            longest_pause=self.config.reconsume_backoff_cap,
        )
        consumption = EventConsumption(
            group=group,
            names=self._names,
            registry=self._registry,
            dispatcher=Dispatcher(self._registry, self.metrics),
            serializer=self.serializer,
            metrics=self.metrics,
            redeliveries=redeliveries,
            producer=producer,
            delay_level=self.config.default_delay_level,
        )
        consumer = NativeConsumer(
            library=library,
            name_servers=self.config.name_servers,
            group=group,
            topics=topics,
            handler=consumption.handle,
            bury=DeadLetters(producer=producer, group=group).bury,
            redeliveries=redeliveries,
            is_final=is_final,
            properties=PROPERTIES,
            threads=self.config.consumer_threads,
            credentials=self.config.credentials,
        )
        consumer.start()
        return consumer

    def _disconnect(self) -> None:
        """Let handlers finish, and publish while they do; then disconnect."""
        try:
            if self._consumer is not None:
                self._consumer.close(within=self.config.shutdown_timeout)
            self._lifecycle.shut_down()
            if self._producer is not None:
                self._producer.close(within=self.longest_call)
        except Exception:
            self._lifecycle.shut_down()
            _logger.exception("RocketMQ event manager failed to shut down")
