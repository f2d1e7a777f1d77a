"""The event manager over Kafka."""

import datetime as dt
import time
from collections.abc import Sequence
from typing import ClassVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    BrokerEventManager,
    Redeliveries,
    is_final,
)
from pragmatic_ddd.errors import EventPublishError, EventRejectedError
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_kafka.client_properties import (
    admin_properties,
    consumer_properties,
    producer_properties,
)
from pragmatic_ddd_kafka.cluster_check import check_cluster
from pragmatic_ddd_kafka.config import KafkaConfig
from pragmatic_ddd_kafka.dead_letters import DeadLetters
from pragmatic_ddd_kafka.delayed_copies import DelayedCopies
from pragmatic_ddd_kafka.errors import RefusedMessageError, SendError, translated
from pragmatic_ddd_kafka.event_record import event_type_of, outgoing, received
from pragmatic_ddd_kafka.kafka_consumer import KafkaConsumer
from pragmatic_ddd_kafka.kafka_producer import KafkaProducer, longest_send
from pragmatic_ddd_kafka.record import Delivery, OutgoingRecord, ReceivedRecord
from pragmatic_ddd_kafka.settlement import Settlement, at_once
from pragmatic_ddd_kafka.topic_name import checked_topic


@attrs.define(eq=False)
class KafkaEventManager(BrokerEventManager):
    """Publishes events to Kafka, and brings those of other processes to its subscribers.

    One event is one record on the event's topic; the aggregate's id is its key and chooses the
    partition, as the Java client would, so that the events of an aggregate keep their order.
    Subscribers are called one after the other, on one thread (``consumer_threads``: on as many);
    while an event is tried again its partition waits. A subscriber that succeeded is not called
    again because another one failed, as long as the event stays in this process.

    Start it in the process that uses it; one that was started before a fork refuses to work. All
    processes of a consumer group should have the same subscribers. A new topic is found within
    30 s.

    Attributes:
        config: How to reach the brokers.
        serializer: Writes and reads events.
        topics: Which event goes where.
    """

    config_prefix: ClassVar[str] = "kafka"

    config: KafkaConfig = attrs.field(validator=of_type(KafkaConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    _producer: KafkaProducer | None = attrs.field(default=None, init=False)
    _consumers: list[KafkaConsumer] = attrs.field(factory=list, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        """The send timeout, and 2 s in which the client may report what has become of a record."""
        return longest_send(self.config.send_timeout)

    @property
    def side_by_side(self) -> int:
        return self.config.sends_side_by_side

    @property
    def durability(self) -> Durability:
        """``all`` or ``leader``, as the config says."""
        return self.config.durability_profile

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        """Publish messages of different aggregates; see ``IPipelinedEventPublisher``."""
        answers: dict[int, Receipt | Exception] = {}
        records: dict[int, OutgoingRecord] = {}
        for place, message in enumerate(messages):
            try:
                topic = self._topic_of(message)
                self._check_connected(message, topic)
                records[place] = self._record(message, topic)
            except EventPublishError as error:
                answers[place] = error
        if self._producer is not None and records:
            sent = self._producer.send_many(list(records.values()))
            for (place, record), answer in zip(records.items(), sent, strict=True):
                answers[place] = _receipt_or_error(answer, messages[place], record.topic)
        return [answers[place] for place in range(len(messages))]

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        return checked_topic(topic)

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        if self._producer is None:
            raise self._unavailable(message, topic)
        (answer,) = self._producer.send_many([self._record(message, topic, addressee)])
        receipt = _receipt_or_error(answer, message, topic)
        if isinstance(receipt, Receipt):
            return receipt
        raise receipt

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        """Start producer and consumers, or none of them."""
        topics = list(consumed_topics)
        if self.config.check_at_start:
            needed = [*topics, *self.config.topics_of_the_group] if topics else []
            check_cluster(admin_properties(self.config), needed)
        producer = KafkaProducer(
            properties=producer_properties(self.config), send_timeout=self.config.send_timeout
        )
        producer.start()
        self._producer = producer  # handlers may publish at once
        try:
            self._start_consumers(topics, producer)
        except BaseException:
            self._disconnect()
            self._producer = None
            self._consumers = []
            raise

    def _disconnect(self) -> None:
        """Let handlers finish, and publish while they do; then disconnect."""
        deadline = time.monotonic() + self.config.shutdown_timeout.total_seconds()
        for consumer in self._consumers:
            consumer.stop()
        for consumer in self._consumers:
            consumer.close(until=deadline)
        if self._producer is not None:
            self._producer.close(within=self.longest_call)

    def _check_connected(self, message: OutboxMessage, topic: str) -> None:
        if self._producer is None or self._is_of_another_process():
            raise self._unavailable(message, topic)

    def _record(
        self, message: OutboxMessage, topic: str, addressee: Addressee = EVERYBODY
    ) -> OutgoingRecord:
        size, most = len(message.payload), self.config.largest_body_bytes
        if size > most:
            reason = f"body: {size} bytes, at most {most} are sent (kafka.largest-body-bytes)"
            raise EventRejectedError(message.message_id, topic, reason)
        try:
            return outgoing(message, topic, addressee, source=self.source)
        except RefusedMessageError as error:
            raise translated(error, message.message_id, topic) from error

    def _start_consumers(self, topics: Sequence[str], producer: KafkaProducer) -> None:
        group = self.config.consumer_group
        if not topics or group is None:
            return
        copies = None
        if self.config.delay > dt.timedelta():
            copies = DelayedCopies(
                producer=producer, group=group, delay=self.config.delay, source=self.source
            )
            topics = list(dict.fromkeys([*topics, copies.topic]))
        settlement = self._settlement(group, producer, copies)
        for member in range(1, self.config.consumer_threads + 1):
            consumer = KafkaConsumer(
                properties=consumer_properties(self.config, group, member=member),
                name=f"Kafka consumer {member} of {group}",
                topics=topics,
                settlement=settlement,
            )
            self._consumers.append(consumer)
            consumer.start()

    def _settlement(
        self, group: str, producer: KafkaProducer, copies: DelayedCopies | None
    ) -> Settlement:
        redeliveries = Redeliveries(
            max_attempts=self.config.max_attempts,
            first_pause=self.config.retry_backoff_base,
            longest_pause=self.config.retry_backoff_cap,
        )
        consumption = self._consumption(group, delay=None if copies is None else copies.keep)

        def handle(record: ReceivedRecord) -> None:
            consumption.handle(
                event_type_of(record),
                lambda: received(record),
                key=record.identity,
                final=redeliveries.is_last_try(record.identity),
                where=f"record {record.where}",
            )

        return Settlement(
            handler=handle,
            bury=DeadLetters(producer=producer, group=group).bury,
            redeliveries=redeliveries,
            is_final=is_final,
            seconds_left=at_once if copies is None else copies.seconds_left,
        )


def _receipt_or_error(
    answer: Delivery | SendError, message: OutboxMessage, topic: str
) -> Receipt | EventPublishError:
    if isinstance(answer, Delivery):
        return Receipt(str(answer))
    error = translated(answer, message.message_id, topic)
    error.__cause__ = answer
    return error
