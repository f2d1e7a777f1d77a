"""The event manager over Redis Streams."""

import datetime as dt
import logging
from collections.abc import Sequence
from typing import ClassVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    BrokerEventManager,
    Redeliveries,
)
from pragmatic_ddd.errors import BrokerUnavailableError, EventPublishError
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_redis.config import NEWEST, RedisConfig
from pragmatic_ddd_redis.connections import RedisConnections
from pragmatic_ddd_redis.dead_letters import DeadLetters
from pragmatic_ddd_redis.delayed_copies import DelayedCopies
from pragmatic_ddd_redis.entry_trials import EntryTrials
from pragmatic_ddd_redis.errors import (
    NoAnswerError,
    NotSentError,
    RedisStartError,
    RefusedCommandError,
)
from pragmatic_ddd_redis.group_consumer import GroupConsumer
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.membership import GroupMembership
from pragmatic_ddd_redis.publisher import Outgoing, StreamPublisher
from pragmatic_ddd_redis.stream_reader import StreamReader
from pragmatic_ddd_redis.stream_worker import StreamWorker
from pragmatic_ddd_redis.streams import OWN_KEYS, checked_topic, streams_of

_logger = logging.getLogger(__name__)

_FORKED = "it was started before this process was forked: make and start one here"


@attrs.define(eq=False)
class RedisStreamsEventManager(BrokerEventManager):
    """Publishes events to Redis Streams, and brings those of other processes to its subscribers.

    A topic is a stream, or several among which its aggregates are divided. One member of a
    consumer group works on a stream at a time, so that the events of an aggregate keep their
    order; an event that fails is tried again in place, and the stream waits.

    Many events go out in one call (``publish_many``), so that the relay needs no threads.

    Attributes:
        config: How to reach Redis.
        serializer: Writes and reads events.
        topics: Which event goes where.
        metrics: What is counted.
        source: Who sends.
    """

    config_prefix: ClassVar[str] = "redis"

    config: RedisConfig = attrs.field(validator=of_type(RedisConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    _connections: RedisConnections | None = attrs.field(default=None, init=False)
    _publisher: StreamPublisher | None = attrs.field(default=None, init=False)
    _consumer: GroupConsumer | None = attrs.field(default=None, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        """Three times the send timeout, five times with TLS; what is usual is one at most.

        Connecting and all answers share one. What is being sent, or received, when that is over
        may take another one each. A host name with more than two addresses that swallow what is
        sent to them takes half of one more for each.
        """
        return self.config.longest_call

    @property
    def side_by_side(self) -> int:
        return self.config.sends_side_by_side

    @property
    def durability(self) -> Durability:
        return self.config.confirmation.durability

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        """Publish in one go; see ``IPipelinedEventPublisher``."""
        answers: list[Receipt | Exception | None] = []
        outgoing: list[Outgoing] = []
        for message in messages:
            try:
                topic = self._topic_of(message)
            except EventPublishError as error:
                answers.append(error)
            else:
                answers.append(None)
                outgoing.append(Outgoing(message, topic, EVERYBODY))
        sent = iter(self._sent(outgoing))
        return [next(sent) if answer is None else answer for answer in answers]

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        return checked_topic(topic)

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        (answer,) = self._sent([Outgoing(message, topic, addressee)])
        if isinstance(answer, Receipt):
            return answer
        raise answer

    def _sent(self, outgoing: Sequence[Outgoing]) -> Sequence[Receipt | EventPublishError]:
        publisher = self._publisher
        if publisher is None:
            return [self._unavailable(each.message, each.topic) for each in outgoing]
        if self._is_of_another_process():
            return [
                BrokerUnavailableError(each.message.message_id, each.topic, _FORKED)
                for each in outgoing
            ]
        return publisher.publish(outgoing)

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        connections = RedisConnections(
            kind=self.config.scheme,
            options=self.config.connection_options(),
            timeout=self.config.send_timeout,
        )
        publisher = StreamPublisher(
            connections=connections,
            confirmation=self.config.confirmation,
            partitions=self.config.partitions,
            max_length=self.config.max_length,
            largest_body_bytes=self.config.largest_body_bytes,
            source=self.source,
        )
        workers: list[StreamWorker] = []
        consumer = None
        group = self.config.consumer_group
        if consumed_topics and group is not None:
            consumer = self._new_consumer(connections, group, consumed_topics)
            workers.extend(consumer.workers)
        try:
            self._ask_the_server(publisher, workers)
            self._connections, self._publisher = connections, publisher
            if consumer is not None:
                self._consumer = consumer
                consumer.start()
        except BaseException:
            self._disconnect()
            connections.close()
            raise

    def _ask_the_server(self, publisher: StreamPublisher, workers: Sequence[StreamWorker]) -> None:
        """Check the server and make the groups; it may come later, unless that is not wanted."""
        try:
            publisher.check()
            for worker in workers:
                worker.reader.make_group()
        except (NotSentError, NoAnswerError, RefusedCommandError) as error:
            if self.config.check_at_start:
                raise RedisStartError(f"Redis at {self.config.address}: {error}") from error
            _logger.warning("Redis at %s is not ready yet: %s", self.config.address, error)

    def _new_consumer(
        self, connections: RedisConnections, group: str, topics: Sequence[str]
    ) -> GroupConsumer:
        config = self.config
        streams = [
            (topic, number, stream)
            for topic in topics
            for number, stream in enumerate(streams_of(topic, config.partitions))
        ]
        leases = [
            StreamLease(
                connections=connections,
                key=f"{OWN_KEYS}{group}:owner:{stream}",
                duration=config.lease,
            )
            for _, _, stream in streams
        ]
        membership = GroupMembership(
            connections=connections,
            group=group,
            topics=topics,
            leases=leases,
            duration=config.lease,
        )
        delayed = self._new_delayed_copies(connections, group)
        consumption = self._consumption(group, delay=None if delayed is None else delayed.keep)
        redeliveries = Redeliveries(
            max_attempts=config.max_attempts,
            first_pause=config.retry_backoff_base,
            longest_pause=config.retry_backoff_cap,
        )
        dead_letters = DeadLetters(
            connections=connections, confirmation=config.confirmation, group=group
        )

        def worker(topic: str, number: int, stream: str, lease: StreamLease) -> StreamWorker:
            reader = StreamReader(
                connections=connections,
                stream=stream,
                group=group,
                start_at="$" if config.new_group_starts_at == NEWEST else "0",
                lease=lease,
                count=config.read_count,
            )
            return StreamWorker(
                reader=reader,
                lease=lease,
                is_wanted=lambda: membership.has(topic, number),
                seconds_between_tries=membership.interval_seconds,
                trials=EntryTrials(
                    topic=topic, group=group, consumption=consumption, redeliveries=redeliveries
                ),
                redeliveries=redeliveries,
                dead_letters=dead_letters,
                delayed=delayed,
            )

        workers = [worker(*stream, lease) for stream, lease in zip(streams, leases, strict=True)]
        return GroupConsumer(membership=membership, workers=workers)

    def _new_delayed_copies(
        self, connections: RedisConnections, group: str
    ) -> DelayedCopies | None:
        config = self.config
        if not config.delay:
            return None
        return DelayedCopies(
            connections=connections,
            confirmation=config.confirmation,
            group=group,
            delay=config.delay,
            partitions=config.partitions,
            max_length=config.max_length,
            source=self.source,
        )

    def _disconnect(self) -> None:
        """Let handlers finish, and publish while they do; then disconnect."""
        if self._consumer is not None:
            self._consumer.close(within=self.config.shutdown_timeout)
            self._consumer = None
        self._publisher = None
        if self._connections is not None:
            self._connections.close()
            self._connections = None
