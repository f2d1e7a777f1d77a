"""A connection whose channel confirms what is published on it."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from pragmatic_ddd_rabbitmq.amqp_client import AmqpChannel
from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.confirms import Call, Confirms, Publication
from pragmatic_ddd_rabbitmq.errors import (
    LinkLostError,
    NotConnectedError,
    RefusedMessageError,
)
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage, identity_of
from pragmatic_ddd_rabbitmq.publish_content import publish_content

Prepare = Callable[[AmqpChannel, str], None]

_PIECE_BYTES: Final = 64 * 1024
_LOST_AFTER_SECONDS: Final = 600.0


@attrs.define(eq=False, kw_only=True)
class PublishingLink:
    """Publishes messages and remembers those that are under way.

    Its user calls it from one thread at a time, as it does ``link``.

    Attributes:
        link: The connection.
        prepare: Makes sure of an exchange, or does nothing, without waiting for an answer.
        reader: Who waits for what comes, and will read for all; ``None`` if nobody does.
        waiting: Who waits for the reader.
    """

    link: BrokerLink
    prepare: Prepare
    reader: Call | None = attrs.field(default=None, init=False)
    waiting: set[Call] = attrs.field(factory=set, init=False)
    _confirms: Confirms = attrs.field(init=False)
    _prepared: set[str] = attrs.field(factory=set, init=False)
    _given_up_at: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        self._confirms = Confirms(self.link.name)

    def begin(self, deadline: float) -> None:
        """Have the channel confirm what is published on it.

        Raises:
            LinkLostError: It does not, or not in time.
        """
        with self.link.asking(deadline) as channel:
            channel.events["basic_ack"].add(self._confirms.acked)
            channel.events["basic_nack"].add(self._confirms.nacked)
            channel.events["basic_return"].add(self._note_return)
            channel.confirm_select()

    @property
    def is_usable(self) -> bool:
        """Whether it has not been lost."""
        return self.link.failure is None

    @property
    def unsettled(self) -> int:
        """How many messages are under way."""
        return len(self._confirms)

    def check(self) -> None:
        """Return if there is a point in publishing now.

        Raises:
            NotConnectedError: The broker takes nothing, or has given no sign of life since a
                confirmation did not come: what were sent now would only wait behind that.
        """
        reason = self.link.reason_of_block
        if reason is not None:
            raise NotConnectedError(f"RabbitMQ takes no messages now: {reason}")
        if self.unsettled and self.link.transport.last_received < self._given_up_at:
            seconds = time.monotonic() - self.link.transport.last_received
            raise NotConnectedError(f"RabbitMQ has been silent for {seconds:.1f} s")

    def publish(self, message: OutgoingMessage) -> Publication:
        """Put a message on its way; ``turn`` sends it and takes the answer.

        One that is under way since an earlier try is not sent again: its answer is awaited. So
        no copy can arrive after what is published once this one is confirmed.

        Returns:
            The publication, with an answer already if the message can never be sent.

        Raises:
            OSError: The connection is lost.
        """
        identity = message.identity
        earlier = self._confirms.earlier_try(identity)
        if earlier is not None:
            return earlier
        publication = Publication(message, identity)
        try:
            content = publish_content(message, frame_max_bytes=self.link.frame_max_bytes)
        except RefusedMessageError as error:
            publication.answer = error
            return publication
        if message.exchange not in self._prepared:
            self.prepare(self.link.channel, message.exchange)
            self._prepared.add(message.exchange)
        self.link.channel.publish(message.exchange, message.routing_key, content)
        self._confirms.sent(publication)
        transport = self.link.transport
        if transport.unsent_bytes > _PIECE_BYTES:
            transport.flush()  # the broker works while the next ones are encoded
        return publication

    def turn(self) -> None:
        """Do what can be done now; leave what has come to the reader, if there is one."""
        if self.reader is None:
            self.link.turn()
            self._give_up_what_is_lost()
        else:
            self.link.push()
            if self.link.transport.unsent_bytes:
                self.link.transport.wake()  # so that the reader waits for room, too
        if not self.is_usable:
            self.wake_all()

    def wake_all(self) -> None:
        """Have everybody who waits look at what has happened."""
        for call in self.waiting:
            call.changed.set()

    def wake_next(self) -> None:
        """Have one of those who wait read, if nobody does."""
        if self.reader is None:
            for call in self.waiting:
                call.changed.set()
                return

    def give_up_waiting(self, publications: Iterable[Publication]) -> None:
        """Note that nobody waits any more; they stay under way."""
        self._given_up_at = time.monotonic()
        for publication in publications:
            publication.call = None

    def _give_up_what_is_lost(self) -> None:
        """End the connection where an answer does not come, though the broker is alive.

        What was under way on it can be sent again then, instead of being waited for.
        """
        begun = max(self._confirms.waits_since(), self.link.takes_since)
        seconds = time.monotonic() - begun
        if seconds > _LOST_AFTER_SECONDS:
            self.link.fail(LinkLostError(f"no confirmation for {seconds:.0f} s"))

    def _note_return(
        self,
        error: Exception,
        exchange: str,
        routing_key: str,
        message: Any,  # noqa: ANN401  # of a library without types
    ) -> None:
        properties = message.properties
        identity = identity_of(
            exchange,
            routing_key,
            properties.get("message_id", ""),
            properties.get("application_headers") or {},
        )
        self._confirms.returned(identity, str(getattr(error, "reply_text", error)))
