"""A consumer with what belongs to it: topology, subscribers, retries and dead letters."""

import datetime as dt
import time

import attrs

from pragmatic_ddd.application.events import EventConsumption, Redeliveries, is_final
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.config import RabbitMqConfig
from pragmatic_ddd_rabbitmq.connector import Connector
from pragmatic_ddd_rabbitmq.consumer import Consumer
from pragmatic_ddd_rabbitmq.dead_letters import DeadLetters
from pragmatic_ddd_rabbitmq.errors import LinkLostError, RabbitMqStartError
from pragmatic_ddd_rabbitmq.event_message import event_of
from pragmatic_ddd_rabbitmq.group_preparation import GroupPreparation
from pragmatic_ddd_rabbitmq.handling import Handling
from pragmatic_ddd_rabbitmq.publisher import ConfirmingPublisher
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage
from pragmatic_ddd_rabbitmq.topology import GroupTopology, TopologyMode


@attrs.define(eq=False, kw_only=True)
class GroupConsumer:
    """One member of a consumer group.

    Attributes:
        config: How to consume.
        topology: What the group has.
        connector: Makes connections.
        publisher: Sends dead letters.
        consumption: Brings events to subscribers.
    """

    config: RabbitMqConfig
    topology: GroupTopology
    connector: Connector
    publisher: ConfirmingPublisher
    consumption: EventConsumption
    _preparation: GroupPreparation = attrs.field(init=False)
    _consumer: Consumer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        config = self.config
        self._preparation = GroupPreparation(topology=self.topology, mode=config.topology)
        handling = Handling(
            handle=self._handle,
            bury=DeadLetters(
                exchange=self.topology.dead_letter, publish=self.publisher.publish_one
            ).bury,
            is_final=is_final,
            redeliveries=Redeliveries(
                max_attempts=config.max_attempts,
                first_pause=config.retry_backoff_base,
                longest_pause=config.retry_backoff_cap,
            ),
        )
        self._consumer = Consumer(
            group=self.topology.group,
            queues=self.topology.queues,
            connect=self.connector.connect,
            prepare=self._preparation.prepare,
            handling=handling,
            prefetch=config.prefetch,
            threads=config.consumer_threads,
            connect_timeout=config.connect_timeout,
        )

    def start(self) -> None:
        """Begin to consume; what is published from now on comes to this group.

        Raises:
            RabbitMqStartError: The broker is away, or refuses something; nothing has begun.
        """
        is_trusted = self.config.topology is TopologyMode.TRUST
        try:
            if not is_trusted:
                self._refuse_strays()
            self._consumer.start(with_broker=not is_trusted)
        except LinkLostError as lost:
            raise RabbitMqStartError(f"consumer of {self.topology.group}: {lost}") from lost

    def close(self, *, within: dt.timedelta) -> None:
        """End; see ``Consumer``."""
        self._consumer.close(within=within)

    def _refuse_strays(self) -> None:
        deadline = time.monotonic() + self.config.connect_timeout.total_seconds()
        link: BrokerLink = self.connector.connect("start", deadline)
        self._preparation.refuse_strays(link, deadline)
        link.close(deadline)

    def _handle(self, message: ReceivedMessage, is_last: bool) -> None:  # noqa: FBT001  # a callback
        if message.unreadable:
            raise EventDeserializationError(str(message), "properties", message.unreadable)
        self.consumption.handle(
            message.event_type,
            lambda: event_of(message),
            key=message.key,
            final=is_last,
            where=str(message),
        )
