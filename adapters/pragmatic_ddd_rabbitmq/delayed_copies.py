"""Copies of events for delayed subscribers: a queue keeps them until their time has come.

    <group>-delay-60000 ──60 s later──▶ exchange <group> ──▶ the group's queue

Every message of such a queue waits equally long, so that none waits behind a longer one. A copy
comes back behind what was published meanwhile, and is for its one subscriber alone.
"""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.events import ReceivedEvent
from pragmatic_ddd.ports.subscribers import Subscriber
from pragmatic_ddd_rabbitmq.event_message import outgoing
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage


@attrs.frozen(kw_only=True)
class DelayedCopies:
    """Sends copies that come back later.

    Attributes:
        exchange: In front of the queue that keeps them.
        publish: Publishes one message; returns when it is confirmed, or raises a ``SendError``.
        source: Who sends them.
    """

    exchange: str
    publish: Callable[[OutgoingMessage], object]
    source: str

    def send(self, received: ReceivedEvent, _: Subscriber) -> None:
        """Send a copy to whom it is addressed; return when RabbitMQ has confirmed it.

        Raises:
            SendError: It was not confirmed.
        """
        self.publish(
            outgoing(received.message, self.exchange, received.addressee, source=self.source)
        )
