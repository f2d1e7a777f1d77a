"""The event manager over RabbitMQ (AMQP 0-9-1)."""

import contextlib
import datetime as dt
from collections.abc import Sequence
from typing import ClassVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events import EVERYBODY, Addressee, BrokerEventManager
from pragmatic_ddd.errors import ConfigurationError, EventPublishError, EventRejectedError
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd_rabbitmq.amqp_client import AmqpChannel
from pragmatic_ddd_rabbitmq.config import RabbitMqConfig
from pragmatic_ddd_rabbitmq.confirms import Confirmation
from pragmatic_ddd_rabbitmq.connector import Connector
from pragmatic_ddd_rabbitmq.delayed_copies import DelayedCopies
from pragmatic_ddd_rabbitmq.durability import PROFILES
from pragmatic_ddd_rabbitmq.errors import NotConnectedError, SendError, translated
from pragmatic_ddd_rabbitmq.event_message import outgoing
from pragmatic_ddd_rabbitmq.group_consumer import GroupConsumer
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage, checked_exchange
from pragmatic_ddd_rabbitmq.publisher import ConfirmingPublisher, longest_call
from pragmatic_ddd_rabbitmq.topology import (
    Binding,
    GroupTopology,
    TopologyMode,
    declare_topic_exchange,
)


@attrs.define(eq=False)
class RabbitMqEventManager(BrokerEventManager):
    """Publishes events to RabbitMQ, and brings those of other processes to its subscribers.

    A topic is a topic exchange, and an event's type its routing key. One event is one persistent
    message, confirmed once every queue that is bound for it has taken it; one that no queue is
    bound for has failed. Each consumer group has queues of its own, with one active consumer
    each, and events of one aggregate are handled one after the other: while one is tried again,
    those behind it wait, and other aggregates go on.

    Start it in the process that uses it, never before a fork. All processes of a consumer group
    must have subscribers for the same events: one that has none for an event passes it over.

    Attributes:
        config: How to reach the broker, and how to consume.
        serializer: Writes and reads events.
        topics: Which event goes to which exchange.
    """

    config_prefix: ClassVar[str] = "rabbitmq"

    config: RabbitMqConfig = attrs.field(validator=of_type(RabbitMqConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    _publisher: ConfirmingPublisher | None = attrs.field(default=None, init=False)
    _consumer: GroupConsumer | None = attrs.field(default=None, init=False)
    _own_exchanges: frozenset[str] = attrs.field(factory=frozenset, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        """The timeouts of connecting and of confirming, and a second.

        Where names have to be resolved, the resolver's own timeouts come on top.
        """
        return longest_call(self.config.connect_timeout, self.config.confirm_timeout)

    @property
    def side_by_side(self) -> int:
        return self.config.sends_side_by_side

    @property
    def durability(self) -> Durability:
        """What the queues are that this group declares; others' may keep more, or less."""
        return PROFILES[self.config.durability]

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        """Publish messages of different aggregates; see ``IPipelinedEventPublisher``.

        Where RabbitMQ closes the channel over one of them, those that have no answer yet are
        published again one by one, to find out which; some may then come twice.
        """
        answers: dict[int, Receipt | Exception] = {}
        ready: dict[int, OutgoingMessage] = {}
        for number, message in enumerate(messages):
            try:
                ready[number] = self._outgoing(message, self._topic_of(message), EVERYBODY)
            except EventPublishError as error:
                answers[number] = error
        sent = self._sent(list(ready.values()))
        for (number, outgoing_message), answer in zip(ready.items(), sent, strict=True):
            answers[number] = _receipt_or_error(outgoing_message, answer)
        return [answers[number] for number in range(len(messages))]

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        return checked_exchange(topic)

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        sent = self._outgoing(message, topic, addressee)
        answer = _receipt_or_error(sent, self._sent([sent])[0])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        connector = Connector.of(self.config)
        publisher = ConfirmingPublisher(
            connect=connector.connect,
            prepare=self._prepare_exchange,
            connect_timeout=self.config.connect_timeout,
            confirm_timeout=self.config.confirm_timeout,
            heartbeat=self.config.heartbeat,
        )
        publisher.start()
        self._publisher = publisher  # handlers may publish at once
        try:
            if consumed_topics and self.config.consumer_group is not None:
                self._consume(connector, publisher, self.config.consumer_group)
        except BaseException:
            self._publisher = None
            publisher.close(within=self.longest_call)
            raise

    def _disconnect(self) -> None:
        """Let handlers finish, and publish while they do; then disconnect."""
        if self._consumer is not None:
            self._consumer.close(within=self.config.shutdown_timeout)
        if self._publisher is not None:
            self._publisher.close(within=self.longest_call)

    def _outgoing(
        self, message: OutboxMessage, exchange: str, addressee: Addressee
    ) -> OutgoingMessage:
        """Return the AMQP message.

        Raises:
            EventRejectedError: It is too large.
        """
        size = len(message.payload)
        if size > self.config.largest_body_bytes:
            raise EventRejectedError(
                message.message_id,
                exchange,
                f"{size} bytes, at most {self.config.largest_body_bytes} are allowed "
                f"(rabbitmq.largest-body-bytes)",
            )
        return outgoing(message, exchange, addressee, source=self.source)

    def _sent(self, messages: Sequence[OutgoingMessage]) -> Sequence[Confirmation | SendError]:
        """Send messages; return what became of each, also where nothing was sent."""
        if not messages:
            return []
        publisher = None if self._is_of_another_process() else self._publisher
        if publisher is None:
            obstacle = NotConnectedError(self._lifecycle.obstacle() or "it is being started")
            return [obstacle] * len(messages)
        try:
            return publisher.publish(messages)
        except NotConnectedError as error:
            return [error] * len(messages)

    def _prepare_exchange(self, channel: AmqpChannel, exchange: str) -> None:
        """Declare what events are published to; what is the group's own is there by then."""
        if self.config.topology is TopologyMode.DECLARE and exchange not in self._own_exchanges:
            declare_topic_exchange(channel, exchange)

    def _consume(self, connector: Connector, publisher: ConfirmingPublisher, group: str) -> None:
        """Begin to consume.

        Raises:
            RabbitMqStartError: It cannot.
        """
        topology = GroupTopology(
            group=group,
            bindings=self._bindings(),
            queue_count=self.config.queues,
            queue_type=self.config.durability,
            delay=self.config.delay,
        )
        self._own_exchanges = topology.own_exchanges
        copies = None
        if topology.delayed is not None:
            copies = DelayedCopies(
                exchange=topology.delayed, publish=publisher.publish_one, source=self.source
            )
        consumer = GroupConsumer(
            config=self.config,
            topology=topology,
            connector=connector,
            publisher=publisher,
            consumption=self._consumption(group, delay=copies.send if copies else None),
        )
        consumer.start()
        self._consumer = consumer

    def _bindings(self) -> list[Binding]:
        """Return what this group wants, by the present and the former names of its events."""
        bindings: dict[Binding, None] = {}
        for name, event_type in self._names.items():
            with contextlib.suppress(ConfigurationError):  # a former name may have no topic
                for exchange in self._topics_of(name, event_type):
                    bindings[Binding(exchange, name)] = None
        return list(bindings)


def _receipt_or_error(
    message: OutgoingMessage, answer: Confirmation | SendError
) -> Receipt | EventPublishError:
    if isinstance(answer, Confirmation):
        return Receipt(
            f"delivery tag {answer.delivery_tag} on {answer.connection}, to exchange "
            f"{message.exchange} with routing key {message.routing_key}"
        )
    error = translated(answer, message.message_id, message.exchange)
    error.__cause__ = answer
    return error
