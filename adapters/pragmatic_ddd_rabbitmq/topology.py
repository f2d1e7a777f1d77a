"""The exchanges and queues of a service: what it publishes to, and what its group consumes.

    shop-events ──shop.order.paid──▶ warehouse ──┬──▶ warehouse-1 ──▶ one consumer at a time
    topic exchange                   exchange    └──▶ warehouse-2 ──▶ one consumer at a time

    warehouse-dead-letter            exchange and queue: what was given up
    warehouse-delay-60000            exchange and queue: what is to come 60 s later ──▶ warehouse

The group's exchange is bound by the types of the events that it subscribes to. With one queue it
passes on everything; with several it divides by the aggregate's id (a plugin that comes with
RabbitMQ). Each queue has one active consumer, whoever else waits for it: that is what keeps the
order of an aggregate, side by side for different ones.
"""

import datetime as dt
import enum
from collections.abc import Sequence
from typing import Final

import attrs

from pragmatic_ddd.application.events.wire_attributes import SUBJECT
from pragmatic_ddd_rabbitmq.amqp_client import AmqpChannel
from pragmatic_ddd_rabbitmq.outgoing_message import PREFIX

_TOPIC: Final = "topic"
_FANOUT: Final = "fanout"
_CONSISTENT_HASH: Final = "x-consistent-hash"
_ONE_SHARE: Final = "1"  # how much of the hash a queue gets, beside the other ones
_DEAD_LETTER: Final = "-dead-letter"
_DELAY: Final = "-delay-"
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


class TopologyMode(enum.StrEnum):
    """Who makes exchanges, queues and bindings.

    Attributes:
        DECLARE: This service; what is there already has to be the same.
        CHECK: Somebody else; the start fails where something is missing. Bindings are not seen.
        TRUST: Somebody else; nothing is looked at, and the broker may be away at the start.
    """

    DECLARE = "declare"
    CHECK = "check"
    TRUST = "trust"


@attrs.frozen
class Binding:
    """Which events of an exchange a group wants.

    Attributes:
        exchange: The topic exchange.
        routing_key: Type of the event.
    """

    exchange: str
    routing_key: str


@attrs.frozen(kw_only=True)
class GroupTopology:
    """What a consumer group has of its own.

    Attributes:
        group: Its name, and that of its exchange.
        bindings: What it wants.
        queue_count: How many queues it has.
        queue_type: What they are: ``quorum`` or ``classic``.
        delay: After which delayed subscribers are called; zero for never.
    """

    group: str
    bindings: Sequence[Binding]
    queue_count: int
    queue_type: str
    delay: dt.timedelta

    @property
    def queues(self) -> list[str]:
        """Names of the queues to be consumed."""
        return _queue_names(self.group, self.queue_count)

    @property
    def dead_letter(self) -> str:
        """Name of the exchange and of the queue for what was given up."""
        return self.group + _DEAD_LETTER

    @property
    def delayed(self) -> str | None:
        """Name of the exchange and of the queue for what is to come later, if there is a delay.

        The delay is part of it: a queue cannot change, and the one of a former delay goes on.
        """
        milliseconds = self.delay // _MILLISECOND
        return f"{self.group}{_DELAY}{milliseconds}" if milliseconds else None

    @property
    def own_exchanges(self) -> frozenset[str]:
        """Names of the exchanges that are no topic exchanges."""
        return frozenset({self.group, self.dead_letter, self.delayed or self.group})

    @property
    def strays(self) -> list[str]:
        """Names of queues that are there if the group had another number of them.

        The group's exchange would go on to send events there, and nobody would consume them.
        """
        if self.queue_count == 1:
            return [f"{self.group}-1"]
        return [self.group, f"{self.group}-{self.queue_count + 1}"]

    def declare(self, channel: AmqpChannel) -> None:
        """Make what is missing.

        Raises:
            amqp.AMQPError: It is not allowed, or something is there and is different.
        """
        for exchange in dict.fromkeys(binding.exchange for binding in self.bindings):
            declare_topic_exchange(channel, exchange)
        self._declare_exchange(channel)
        self._declare_queue(channel, self.dead_letter, {})
        channel.exchange_declare(self.dead_letter, _FANOUT, durable=True, auto_delete=False)
        channel.queue_bind(self.dead_letter, self.dead_letter)
        for queue in self.queues:
            self._declare_queue(
                channel, queue, {"x-single-active-consumer": True, **self._dying_to_dead_letter}
            )
            channel.queue_bind(queue, self.group, routing_key=_ONE_SHARE)
        self._declare_delay(channel)
        for binding in self.bindings:
            channel.exchange_bind(
                self.group, source=binding.exchange, routing_key=binding.routing_key
            )

    def check(self, channel: AmqpChannel) -> None:
        """Look whether everything is there.

        Raises:
            amqp.AMQPError: Something is missing.
        """
        delayed = [self.delayed] if self.delayed else []
        sources = dict.fromkeys(binding.exchange for binding in self.bindings)
        for exchange in (*sources, self.group, self.dead_letter, *delayed):
            channel.exchange_declare(exchange, "", passive=True, auto_delete=False)
        for queue in (*self.queues, self.dead_letter, *delayed):
            channel.queue_declare(queue, passive=True)

    def _declare_exchange(self, channel: AmqpChannel) -> None:
        is_divided = self.queue_count > 1
        channel.exchange_declare(
            self.group,
            _CONSISTENT_HASH if is_divided else _FANOUT,
            durable=True,
            auto_delete=False,
            arguments={"hash-header": PREFIX + SUBJECT} if is_divided else None,
        )

    def _declare_delay(self, channel: AmqpChannel) -> None:
        if self.delayed is None:
            return
        arguments = {
            "x-message-ttl": self.delay // _MILLISECOND,
            **self._dying_to(self.group),
        }
        self._declare_queue(channel, self.delayed, arguments)
        channel.exchange_declare(self.delayed, _FANOUT, durable=True, auto_delete=False)
        channel.queue_bind(self.delayed, self.delayed)

    @property
    def _dying_to_dead_letter(self) -> dict[str, object]:
        """Where the broker puts what it gives up itself: from RabbitMQ 4 on after 20 returns."""
        return self._dying_to(self.dead_letter)

    def _dying_to(self, exchange: str) -> dict[str, object]:
        arguments: dict[str, object] = {"x-dead-letter-exchange": exchange}
        if self.queue_type == "quorum":
            arguments["x-dead-letter-strategy"] = "at-least-once"
        return arguments

    def _declare_queue(self, channel: AmqpChannel, name: str, arguments: dict[str, object]) -> None:
        channel.queue_declare(
            name,
            durable=True,
            auto_delete=False,
            arguments={
                "x-queue-type": self.queue_type,
                "x-overflow": "reject-publish",  # where a policy limits it: a no, not a loss
                **arguments,
            },
        )


def declare_topic_exchange(channel: AmqpChannel, name: str) -> None:
    """Make a topic exchange unless it is there, without waiting: if not, the channel is closed."""
    channel.exchange_declare(name, _TOPIC, durable=True, auto_delete=False, nowait=True)


def _queue_names(group: str, count: int) -> list[str]:
    if count == 1:
        return [group]
    return [f"{group}-{number}" for number in range(1, count + 1)]
