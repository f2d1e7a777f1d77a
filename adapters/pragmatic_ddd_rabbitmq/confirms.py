"""What is under way on a confirming channel, and what the broker says of it.

    sent(publication) ──▶ acked ───────────────▶ Confirmation
                      ──▶ returned, then acked ─▶ UndeliverableError
                      ──▶ nacked ──────────────▶ NotConfirmedError

A message that no queue is bound for is returned, and then confirmed like any other. The return
comes first, so that a confirmation means what it says once returns are remembered.

A confirmation that comes when nobody waits for it any more is kept for a while: the next try of
that message takes it, and no copy is sent.
"""

import itertools
import math
import threading
import time
from collections import OrderedDict
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.errors import NotConfirmedError, SendError, UndeliverableError
from pragmatic_ddd_rabbitmq.outgoing_message import Identity, OutgoingMessage

_MOST_LATE: Final = 10_000
_LATE_SECONDS: Final = 600.0  # longer than an outbox waits between tries; a replay is no retry
_NACKED: Final = (
    "RabbitMQ says no (basic.nack): a queue is full, or could not store it; see the broker's log"
)


@attrs.frozen
class Confirmation:
    """RabbitMQ's word that every bound queue has a message.

    Attributes:
        delivery_tag: Its number on its channel.
        connection: Name of the connection, as the broker's own tools show it.
    """

    delivery_tag: int
    connection: str


@attrs.define(eq=False)
class Call:
    """Somebody who waits for answers.

    Attributes:
        missing: How many have not come.
        changed: Set when there is something to look at: all are there, or it has to read.
        thread: Number of the thread that waits.
    """

    missing: int = 0
    changed: threading.Event = attrs.field(factory=threading.Event)
    thread: int = attrs.field(factory=threading.get_ident)

    def take(self, publication: "Publication") -> None:
        """Wait for the answer to a publication, too."""
        if publication.answer is None and publication.call is not self:
            publication.call = self
            self.missing += 1

    def answered(self) -> None:
        """Note that one answer has come."""
        self.missing -= 1
        if not self.missing:
            self.changed.set()


@attrs.define(eq=False)
class Publication:
    """One message under way.

    Attributes:
        message: What was sent.
        identity: What no other message under way has.
        sent_at: Reading of the monotonic clock when it was handed to the connection.
        answer: What the broker says of it; ``None`` as long as it says nothing.
        call: Who waits for the answer; ``None`` if nobody does any more.
    """

    message: OutgoingMessage
    identity: Identity
    answer: Confirmation | SendError | None = None
    call: Call | None = None
    sent_at: float = attrs.field(default=0.0, init=False)


@attrs.define(eq=False)
class Confirms:
    """The publications of one channel. Its user calls it from one thread at a time.

    Attributes:
        connection: Name of the connection.
    """

    connection: str
    _last_tag: int = attrs.field(default=0, init=False)
    _under_way: dict[int, Publication] = attrs.field(factory=dict, init=False)
    _tags: dict[Identity, int] = attrs.field(factory=dict, init=False)
    _returned: dict[Identity, str] = attrs.field(factory=dict, init=False)
    _late: OrderedDict[Identity, tuple[float, Publication]] = attrs.field(
        factory=OrderedDict, init=False
    )

    def sent(self, publication: Publication) -> None:
        """Note that a message was handed to the connection; the broker counts in this order."""
        self._last_tag += 1
        publication.sent_at = time.monotonic()
        self._under_way[self._last_tag] = publication
        self._tags[publication.identity] = self._last_tag

    def earlier_try(self, identity: Identity) -> Publication | None:
        """Return the publication of the same message that is under way, or confirmed too late."""
        tag = self._tags.get(identity)
        if tag is not None:
            return self._under_way[tag]
        if not self._late:
            return None
        confirmed_at, publication = self._late.pop(identity, (0.0, None))
        return publication if time.monotonic() < confirmed_at + _LATE_SECONDS else None

    def waits_since(self) -> float:
        """Return when the oldest one was sent, by the monotonic clock; infinity without any."""
        return next((each.sent_at for each in self._under_way.values()), math.inf)

    def acked(self, tag: int, multiple: bool) -> None:  # noqa: FBT001  # as AMQP calls it
        """Take ``basic.ack``."""
        for each in self._up_to(tag) if multiple else (tag,):
            self._settle(each, is_confirmed=True)

    def nacked(self, tag: int, multiple: bool) -> None:  # noqa: FBT001  # as AMQP calls it
        """Take ``basic.nack``."""
        for each in self._up_to(tag) if multiple else (tag,):
            self._settle(each, is_confirmed=False)

    def returned(self, identity: Identity, reason: str) -> None:
        """Take ``basic.return``."""
        if identity in self._tags:
            self._returned[identity] = reason

    def __len__(self) -> int:
        return len(self._under_way)

    def _up_to(self, tag: int) -> list[int]:
        """Return the tags up to one, in the order in which they were sent."""
        return list(itertools.takewhile(lambda each: each <= tag, self._under_way))

    def _settle(self, tag: int, *, is_confirmed: bool) -> None:
        publication = self._under_way.pop(tag, None)
        if publication is None:
            return
        identity = publication.identity
        self._tags.pop(identity, None)
        reason = self._returned.pop(identity, None)
        if reason is not None:
            publication.answer = _unroutable(publication.message, reason)
        elif is_confirmed:
            publication.answer = Confirmation(tag, self.connection)
        else:
            publication.answer = NotConfirmedError(_NACKED)
        if publication.call is not None:
            publication.call.answered()
        elif is_confirmed and reason is None:
            self._keep(publication)

    def _keep(self, publication: Publication) -> None:
        self._late[publication.identity] = time.monotonic(), publication
        while len(self._late) > _MOST_LATE:
            self._late.popitem(last=False)


def _unroutable(message: OutgoingMessage, reason: str) -> UndeliverableError:
    return UndeliverableError(
        f"returned, {reason}: no queue is bound to exchange {message.exchange!r} for routing key "
        f"{message.routing_key!r}; subscribe to it, or bind a queue"
    )
