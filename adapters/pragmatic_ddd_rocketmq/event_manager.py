"""The event manager over RocketMQ's remoting protocol (4.x and 5.x brokers)."""

import datetime as dt
from collections.abc import Sequence
from typing import ClassVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import (
    Addressee,
    BrokerEventManager,
    EventConsumption,
    ReceivedEvent,
    Redeliveries,
    is_final,
)
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.subscribers import Subscriber
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_rocketmq.config import RocketMqConfig
from pragmatic_ddd_rocketmq.dead_letters import DeadLetters
from pragmatic_ddd_rocketmq.errors import (
    NotConfirmedError,
    NotSentError,
    RefusedMessageError,
    translated,
)
from pragmatic_ddd_rocketmq.event_message import PROPERTIES, event_type_of, outgoing, received
from pragmatic_ddd_rocketmq.first_sends import LONGEST_WAIT
from pragmatic_ddd_rocketmq.native_consumer import NativeConsumer
from pragmatic_ddd_rocketmq.native_library import NativeLibrary, load_native_library
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import checked_topic
from pragmatic_ddd_rocketmq.process_end import refuse_after_fork
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage

_CHECK_TIMEOUT_SECONDS = 3.0

SEND_OK = Durability(
    name="send-ok",
    sent_means=(
        "The broker has answered SEND_OK: the message is in its memory and its operating system's "
        "cache, and on disk or at a replica only where the broker waits for that (flushDiskType, "
        "brokerRole)."
    ),
    survives_process_crash=True,
    survives_power_loss=False,
    survives_node_loss=False,
)


@attrs.define(eq=False)
class RocketMqEventManager(BrokerEventManager):
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
        source: Who sends: a URI reference.
    """

    config_prefix: ClassVar[str] = "rocketmq"

    config: RocketMqConfig = attrs.field(validator=of_type(RocketMqConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    _producer: NativeProducer | None = attrs.field(default=None, init=False)
    _consumer: NativeConsumer | None = attrs.field(default=None, init=False)

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

    @property
    def durability(self) -> Durability:
        """The one that there is: all else is set at the brokers, and not told to a client."""
        return SEND_OK

    def start(self) -> None:
        """Connect, and begin to consume where there are subscribers; see ``ILifecycle``.

        Raises:
            ConfigurationError: There are subscribers and no consumer group, or a topic of
                theirs is not set or not allowed.
            NativeLibraryError: The client or its library cannot be loaded; says what to install.
            RocketMqStartError: It cannot connect now, or RocketMQ was started before this
                process was forked.
            SubscriptionError: A subscriber depends on one that does not exist.
        """
        refuse_after_fork()
        super().start()

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        return checked_topic(topic)

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        if self._producer is None:
            raise self._unavailable(message, topic)
        try:
            sent = outgoing(message, topic, addressee, source=self.source)
            receipt = self._producer.send(sent)
        except (RefusedMessageError, NotSentError, NotConfirmedError) as error:
            raise translated(error, message.message_id, topic) from error
        return Receipt(f"{receipt.message_id} at offset {receipt.queue_offset} on {topic}")

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        """Start producer and consumer, or neither."""
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
            self._consumer = self._started_consumer(library, producer, consumed_topics)
        except BaseException:
            self._producer = None
            producer.close(within=self.longest_call)
            raise

    def _disconnect(self) -> None:
        """Let handlers finish, and publish while they do; then disconnect."""
        if self._consumer is not None:
            self._consumer.close(within=self.config.shutdown_timeout)
        if self._producer is not None:
            self._producer.close(within=self.longest_call)

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
        consumption = self._consumption_of(group, producer)

        def handle(message: ReceivedMessage) -> None:
            consumption.handle(
                event_type_of(message),
                lambda: received(message),
                key=message.message_id,
                final=redeliveries.is_last_try(message.message_id),
                where=message.where,
            )

        consumer = NativeConsumer(
            library=library,
            name_servers=self.config.name_servers,
            group=group,
            topics=topics,
            handler=handle,
            bury=DeadLetters(producer=producer, group=group).bury,
            redeliveries=redeliveries,
            is_final=is_final,
            properties=PROPERTIES,
            threads=self.config.consumer_threads,
            credentials=self.config.credentials,
        )
        consumer.start()
        return consumer

    def _consumption_of(self, group: str, producer: NativeProducer) -> EventConsumption:
        level = self.config.default_delay_level

        def delay(event: ReceivedEvent, _: Subscriber) -> None:
            producer.send(
                outgoing(
                    event.message,
                    event.topic,
                    event.addressee,
                    source=self.source,
                    delay_level=level,
                )
            )

        return self._consumption(group, delay=delay if level > 0 else None)
