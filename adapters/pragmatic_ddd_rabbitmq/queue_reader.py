"""One queue of a group: a connection with a thread that reads it, and connects anew when needed.

    queue ──▶ reading thread ──▶ lanes ──▶ handling threads
                    ◀────────── acknowledgements ──────┘

The thread alone uses the connection: it takes messages, acknowledges those that are done with,
keeps up the heartbeat, and connects again when the connection is lost. Messages that were not
acknowledged by then come again, in their old order.

A queue is given up without cancelling anything: while a cancelled consumer still had messages in
hand, RabbitMQ would give the next ones to the next member of the group, and one aggregate would
be handled in two places. The connection is closed instead, once the handlers have ended; what is
left goes back to the queue, and only then to somebody else.
"""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import attrs

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.errors import LinkLostError
from pragmatic_ddd_rabbitmq.lanes import Lanes
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage, received

_logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0
_GOODBYE_SECONDS: Final = 2.0


@attrs.define(eq=False, kw_only=True)
class QueueReader:
    """Reads one queue until it is ended.

    Attributes:
        queue: Its name.
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        prepare: Makes sure of what the group needs on a new connection, until then.
        lanes: Where messages go.
        prefetch: How many may be in this process unacknowledged.
        connect_seconds: How long connecting may take.
        has_too_many: Asked now and then, with the number of the queue's consumers: whether this
            process is to leave the queue to another one of them.
        check_seconds: How long between two such questions; infinite for never.
        patience_seconds: How long to wait for handlers before the queue is left, or is not.
        is_leaving: Whether the queue is being left to another one.
    """

    queue: str
    connect: Callable[[str, float], BrokerLink]
    prepare: Callable[[BrokerLink, float], None]
    lanes: Lanes
    prefetch: int
    connect_seconds: float
    has_too_many: Callable[["QueueReader", int], bool]
    check_seconds: float
    patience_seconds: float
    is_leaving: bool = attrs.field(default=False, init=False)
    _has_received: bool = attrs.field(default=False, init=False)
    _link: BrokerLink | None = attrs.field(default=None, init=False)
    _session: int = attrs.field(default=0, init=False)
    _done_with: deque[ReceivedMessage] = attrs.field(factory=deque, init=False, repr=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False, repr=False)
    _end: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)

    @property
    def is_active(self) -> bool:
        """Whether messages have come on this connection, and others are to come."""
        return self._has_received and not self.is_leaving

    def connect_now(self) -> None:
        """Connect before the start.

        Raises:
            LinkLostError: The broker is away, or refuses something.
        """
        self._begin_session()

    def start(self) -> None:
        """Begin to read, in a thread."""
        self._thread = threading.Thread(
            target=self._read, name=f"rabbitmq-{self.queue}-reader", daemon=True
        )
        self._thread.start()

    def done_with(self, message: ReceivedMessage) -> None:
        """Have a message acknowledged; called by the threads that handle."""
        self._done_with.append(message)
        self._wake()

    def end(self) -> None:
        """Have it acknowledge what is done with, disconnect and end; returns at once."""
        self._end.set()
        self._wake()

    def join(self) -> None:
        """Wait for its end, within a bound."""
        if self._thread is None:
            self._end_session()
        elif self._thread is not threading.current_thread():
            self._thread.join(_GOODBYE_SECONDS + self.connect_seconds)

    def _wake(self) -> None:
        link = self._link
        if link is not None:
            link.transport.wake()

    def _read(self) -> None:
        """Read, connection after connection, until the end."""
        pause = _FIRST_PAUSE_SECONDS
        while not self._end.is_set():
            try:
                if self._link is None:
                    self._begin_session()
                pause = _FIRST_PAUSE_SECONDS
                self._consume()
            except LinkLostError as lost:
                _logger.warning("consumer of queue %s: %s; it connects again", self.queue, lost)
            except Exception:
                _logger.exception("consumer of queue %s failed; it connects again", self.queue)
            self._end_session()
            self._end.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _begin_session(self) -> None:
        """Connect and ask for messages.

        Raises:
            LinkLostError: It cannot.
        """
        deadline = time.monotonic() + self.connect_seconds
        link = self.connect(f"consumer of {self.queue}", deadline)
        try:
            self.prepare(link, deadline)
            self._session += 1
            self.lanes.open(self.queue)
            with link.asking(deadline) as channel:
                channel.basic_qos(0, self.prefetch, a_global=False)
                channel.basic_consume(self.queue, callback=self._receive, on_cancel=self._cancelled)
        except BaseException:
            self.lanes.drop(self.queue)
            link.fail(LinkLostError("consuming did not begin"))
            raise
        self._link = link
        _logger.info("%s is connected", link.name)

    def _consume(self) -> None:
        """Take messages and acknowledge, until the end, or until the queue is left to another.

        Raises:
            LinkLostError: The connection is lost.
        """
        link = self._link
        next_check = time.monotonic() + self.check_seconds * random.uniform(0.5, 1.5)  # noqa: S311
        while link is not None:
            has_ended = self._end.is_set()
            self._go_on(link)
            if has_ended:
                return
            if time.monotonic() >= next_check:
                next_check = time.monotonic() + self.check_seconds
                if self.is_active and self.has_too_many(self, self._members(link)):
                    self.is_leaving = self._has_finished(link)
                    if self.is_leaving:
                        return
            if not self._done_with:
                link.transport.wait(min(link.beat_seconds, self.check_seconds))

    def _go_on(self, link: BrokerLink) -> None:
        """Do what can be done without waiting.

        Raises:
            LinkLostError: The connection is lost.
        """
        while self._done_with:
            message = self._done_with.popleft()
            if message.session != self._session:
                _logger.info("%s: it comes again, its connection was lost meanwhile", message)
                continue
            with link.asking(0.0) as channel:
                channel.basic_ack(message.delivery_tag)
        link.turn()
        link.check()

    def _members(self, link: BrokerLink) -> int:
        """Return how many consumers the queue has, this one included."""
        with link.asking(time.monotonic() + self.connect_seconds) as channel:
            return int(channel.queue_declare(self.queue, passive=True).consumer_count)

    def _has_finished(self, link: BrokerLink) -> bool:
        """Wait for what is in hand, so that the next member finds nobody else at work.

        Returns:
            Whether nothing is in hand any more, and the queue can be left; else it goes on.

        Raises:
            LinkLostError: The connection is lost.
        """
        self.lanes.pause(self.queue)
        deadline = time.monotonic() + self.patience_seconds
        while self.lanes.in_hand(self.queue) and not self._end.is_set():
            left = deadline - time.monotonic()
            if left <= 0:
                self.lanes.resume(self.queue)
                return False
            self._go_on(link)
            link.transport.wait(min(link.beat_seconds, left))
        self._go_on(link)
        _logger.info("queue %s is left to another member of the group", self.queue)
        return True

    def _receive(self, message: Any) -> None:  # noqa: ANN401  # of a library without types
        is_first, self._has_received = not self._has_received, True
        self.lanes.put(
            received(message, queue=self.queue, session=self._session, is_first=is_first)
        )

    def _cancelled(self, _: str) -> None:
        raise LinkLostError(f"RabbitMQ delivers no more: {self.queue!r} is deleted, or moves")

    def _end_session(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close(time.monotonic() + _GOODBYE_SECONDS)
        self.lanes.drop(self.queue)
        self._has_received = self.is_leaving = False
