"""The event manager over RocketMQ 5's gRPC proxy."""

import datetime as dt
from collections.abc import Sequence
from typing import ClassVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    BrokerEventManager,
    EventConsumption,
    ReceivedEvent,
    Redeliveries,
    is_final,
)
from pragmatic_ddd.errors import ConfigurationError, EventPublishError
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.subscribers import Delivery, Subscriber
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_rocketmq_grpc.client_library import load_client_library
from pragmatic_ddd_rocketmq_grpc.config import RocketMqGrpcConfig
from pragmatic_ddd_rocketmq_grpc.connection import Connection
from pragmatic_ddd_rocketmq_grpc.consumer import Consumer
from pragmatic_ddd_rocketmq_grpc.dead_letters import DeadLetters
from pragmatic_ddd_rocketmq_grpc.errors import (
    SEND_ERRORS,
    RefusedMessageError,
    RocketMqGrpcStartError,
    SendError,
    translated,
)
from pragmatic_ddd_rocketmq_grpc.event_message import event_type_of, outgoing, received
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage, checked_topic
from pragmatic_ddd_rocketmq_grpc.producer import Producer, longest_call
from pragmatic_ddd_rocketmq_grpc.received_message import ReceivedMessage
from pragmatic_ddd_rocketmq_grpc.receiver import Receiver
from pragmatic_ddd_rocketmq_grpc.sending import SendReceipt

_WAIT_FOR_SETTINGS = dt.timedelta(seconds=3)

SEND_OK = Durability(
    name="send-ok",
    sent_means=(
        "The proxy has passed on the broker's SEND_OK: the message is in the broker's memory and "
        "its operating system's cache, and on disk or at a replica only where the broker waits "
        "for that (flushDiskType, brokerRole)."
    ),
    survives_process_crash=True,
    survives_power_loss=False,
    survives_node_loss=False,
)


@attrs.define(eq=False)
class RocketMqGrpcEventManager(BrokerEventManager):
    """Publishes events through a gRPC proxy, and brings those of other processes to subscribers.

    One event is one message on the event's topic, of type FIFO; the aggregate is its message
    group, so that its events share a queue and keep their order. It is the queue that a remoting
    producer chooses, so that services may move from one channel to the other.

    Subscribers are called on threads of the manager, one event of a queue after the other; while
    one is tried again the queue waits. A subscriber that succeeded is not called again because
    another one failed, as long as the event stays in this process.

    Start it in the process that uses it, never before a fork. Topics and consumer groups have to
    exist: a proxy makes none. All processes of a group must have subscribers for events of the
    same topics.

    Attributes:
        config: How to reach the proxy.
        serializer: Writes and reads events.
        topics: Which event goes where.
    """

    config_prefix: ClassVar[str] = "rocketmq-grpc"

    config: RocketMqGrpcConfig = attrs.field(validator=of_type(RocketMqGrpcConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    _producer: Producer | None = attrs.field(default=None, init=False)
    _consumer: Consumer | None = attrs.field(default=None, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        return longest_call(self.config.send_timeout)

    @property
    def side_by_side(self) -> int:
        return self.config.sends_side_by_side

    @property
    def durability(self) -> Durability:
        """The one that there is: all else is set at the brokers, and not told to a client."""
        return SEND_OK

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        """Publish messages of different aggregates; see ``IPipelinedEventPublisher``."""
        prepared = [self._prepared(message) for message in messages]
        sent = [each for each in prepared if isinstance(each, OutgoingMessage)]
        producer = self._producer
        answers = iter([] if producer is None else producer.send_many(sent))
        outcomes: list[Receipt | Exception] = []
        for message, each in zip(messages, prepared, strict=True):
            if isinstance(each, EventPublishError):
                outcomes.append(each)
            elif producer is None:
                outcomes.append(self._unavailable(message, each.topic))
            else:
                outcomes.append(_outcome(next(answers), message, each.topic))
        return outcomes

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        return checked_topic(topic)

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        producer = self._producer
        if producer is None:
            raise self._unavailable(message, topic)
        try:
            sent = outgoing(message, topic, addressee, source=self.source)
            return _receipt(producer.send(sent), topic)
        except SEND_ERRORS as error:
            raise translated(error, message.message_id, topic) from error

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        """Start producer and consumer, or neither."""
        connection = Connection(
            library=load_client_library(),
            endpoints=self.config.parsed_endpoints,
            namespace=self.config.namespace,
            credentials=self.config.credentials,
            tls=self.config.tls,
            timeout=self.config.send_timeout,
        )
        producer = Producer(connection=connection, window=self.config.sends_side_by_side)
        producer.start()
        self._producer = producer  # handlers may publish at once
        try:
            topics = self._with_delay_topic(consumed_topics)
            if self.config.check_at_start:
                self._check(producer, topics)
            self._consumer = self._started_consumer(connection, producer, topics)
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

    def _prepared(self, message: OutboxMessage) -> OutgoingMessage | EventPublishError:
        """Return what is sent for a message, or why nothing can be."""
        try:
            topic = self._topic_of(message)
        except EventPublishError as error:
            return error
        try:
            return outgoing(message, topic, EVERYBODY, source=self.source)
        except RefusedMessageError as error:
            return translated(error, message.message_id, topic)

    def _with_delay_topic(self, topics: Sequence[str]) -> list[str]:
        """Return the topics with that of delayed events, where a subscriber waits for such."""
        group = self.config.consumer_group
        subscribers = (each for found in self.subscribers().values() for each in found)
        is_delayed = any(each.delivery is Delivery.DELAYED for each in subscribers)
        if group is None or not is_delayed or not self.config.delay:
            return list(topics)
        return [*topics, self.config.delay_topic_of(group)]

    def _check(self, producer: Producer, topics: Sequence[str]) -> None:
        try:
            producer.check(topics)
        except SEND_ERRORS as error:
            raise RocketMqGrpcStartError(str(error)) from error

    def _started_consumer(
        self, connection: Connection, producer: Producer, topics: Sequence[str]
    ) -> Consumer | None:
        group = self.config.consumer_group
        if not topics or group is None:
            return None
        receiver = Receiver(
            connection=connection,
            group=group,
            topics=topics,
            invisible_time=self.config.invisible_time,
            long_poll=self.config.long_poll,
        )
        receiver.start()
        try:
            self._check_order(receiver, group)
            consumer = self._consumer_of(group, receiver, producer)
            consumer.start()
        except BaseException:
            receiver.close()
            raise
        return consumer

    def _check_order(self, receiver: Receiver, group: str) -> None:
        """Refuse a group to which the proxy gives events that are behind a failed one."""
        is_ordered = receiver.is_ordered(within=_WAIT_FOR_SETTINGS)
        if is_ordered is False:
            problem = (
                f"rocketmq-grpc.consumer-group = {group!r}: it is not there, or not orderly, so "
                f"its events would overtake each other: mqadmin updateSubGroup ... -g {group} "
                f"-o true"
            )
            raise ConfigurationError([problem])
        if is_ordered is None and self.config.check_at_start:
            raise RocketMqGrpcStartError(f"the proxy at {self.config.endpoints} does not answer")

    def _consumer_of(self, group: str, receiver: Receiver, producer: Producer) -> Consumer:
        consumption = self._consumption_of(group, producer)

        def handle(message: ReceivedMessage, is_last_try: bool) -> None:  # noqa: FBT001
            consumption.handle(
                event_type_of(message),
                lambda: received(message),
                key=message.message_id,
                final=is_last_try,
                where=message.where,
            )

        return Consumer(
            receiver=receiver,
            handler=handle,
            bury=DeadLetters(producer=producer, group=group).bury,
            redeliveries=Redeliveries(
                max_attempts=self.config.max_reconsume_times + 1,
                first_pause=self.config.reconsume_backoff_base,
                longest_pause=self.config.reconsume_backoff_cap,
            ),
            is_final=is_final,
            threads=self.config.consumer_threads,
        )

    def _consumption_of(self, group: str, producer: Producer) -> EventConsumption:
        topic = self.config.delay_topic_of(group)

        def delay(event: ReceivedEvent, _: Subscriber) -> None:
            deliver_at = dt.datetime.now(dt.UTC) + self.config.delay
            copy = outgoing(
                event.message, topic, event.addressee, source=self.source, deliver_at=deliver_at
            )
            producer.send(copy)

        return self._consumption(group, delay=delay if self.config.delay else None)


def _outcome(
    answer: SendReceipt | SendError, message: OutboxMessage, topic: str
) -> Receipt | Exception:
    if isinstance(answer, SendReceipt):
        return _receipt(answer, topic)
    return translated(answer, message.message_id, topic)


def _receipt(receipt: SendReceipt, topic: str) -> Receipt:
    return Receipt(f"{receipt.message_id} at offset {receipt.queue_offset} on {topic}")
