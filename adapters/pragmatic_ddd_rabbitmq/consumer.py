"""A consumer of one group: a connection with a thread that reads, and threads that handle.

    queue ──▶ reading thread ──▶ lanes ──▶ handling threads
                    ◀────────── acknowledgements ──────┘

The reading thread alone uses the connection: it takes messages, acknowledges those that are done
with, keeps up the heartbeat, and connects anew when the connection is lost. Messages that were
not acknowledged by then come again, in their old order.

At the end nothing is cancelled: while a cancelled consumer still had messages in hand, RabbitMQ
would give the next ones to the next member of the group, and one aggregate would be handled in
two places. The connection is closed instead, once the handlers have ended; what is left goes back
to the queue, and only then to somebody else.
"""

import datetime as dt
import functools
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.errors import LinkLostError
from pragmatic_ddd_rabbitmq.handling import Handling
from pragmatic_ddd_rabbitmq.lanes import Lanes
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage, received

Connect = Callable[[str, float], BrokerLink]

_logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0
_GOODBYE_SECONDS: Final = 2.0


@attrs.define(eq=False, kw_only=True)
class Consumer:
    """Consumes the queues of a group until it is closed.

    Attributes:
        group: The consumer group, for people.
        queues: Names of its queues.
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        prepare: Makes sure of exchanges, queues and bindings on a new connection, until then.
        handling: Tries messages.
        prefetch: How many messages of each queue may be in this process unacknowledged.
        threads: How many are handled at once.
        connect_timeout: How long connecting may take.
    """

    group: str
    queues: Sequence[str]
    connect: Connect
    prepare: Callable[[BrokerLink, float], None]
    handling: Handling
    prefetch: int
    threads: int
    connect_timeout: dt.timedelta
    _lanes: Lanes = attrs.field(init=False)
    _link: BrokerLink | None = attrs.field(default=None, init=False)
    _session: int = attrs.field(default=0, init=False)
    _has_received: bool = attrs.field(default=False, init=False)
    _done_with: deque[ReceivedMessage] = attrs.field(factory=deque, init=False, repr=False)
    _reading: threading.Thread | None = attrs.field(default=None, init=False, repr=False)
    _end: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._lanes = Lanes(is_alone=self.handling.is_alone)

    def start(self, *, with_broker: bool) -> None:
        """Begin to consume.

        Args:
            with_broker: Whether the broker has to be there; else it may come later.

        Raises:
            LinkLostError: It is not, or refuses something. Nothing has begun.
        """
        if with_broker:
            self._begin_session()
        self._reading = threading.Thread(
            target=self._read, name=f"rabbitmq-{self.group}-reader", daemon=True
        )
        self._reading.start()
        for number in range(1, self.threads + 1):
            threading.Thread(
                target=self._work, name=f"rabbitmq-{self.group}-{number}", daemon=True
            ).start()

    def close(self, *, within: dt.timedelta) -> None:
        """Take no more messages, let handlers finish, disconnect. A second call does nothing.

        Args:
            within: How long to wait for handlers; what they have in hand then will come again.
        """
        if self._end.is_set():
            return
        self._lanes.close()
        if self._reading is not None and not self._lanes.is_idle(within=within.total_seconds()):
            _logger.error(
                "consumer of %s: a handler is still at work; its message will come again",
                self.group,
            )
        self._end.set()
        link, reading = self._link, self._reading
        if link is not None:
            link.transport.wake()
        if reading is not None and reading is not threading.current_thread():
            reading.join(_GOODBYE_SECONDS + self.connect_timeout.total_seconds())

    def _work(self) -> None:
        while (message := self._lanes.take()) is not None:
            until = self.handling.rest_after(message)
            if until is not None:
                self._lanes.hold(message, until)
                continue
            self._done_with.append(message)
            self._lanes.settled(message)
            link = self._link
            if link is not None:
                link.transport.wake()

    def _read(self) -> None:
        """Consume, connection after connection, until the end."""
        pause = _FIRST_PAUSE_SECONDS
        while not self._end.is_set():
            try:
                if self._link is None:
                    self._begin_session()
                pause = _FIRST_PAUSE_SECONDS
                self._consume()
            except LinkLostError as lost:
                _logger.warning("consumer of %s: %s; it connects again", self.group, lost)
            except Exception:
                _logger.exception("consumer of %s failed; it connects again", self.group)
            self._end_session()
            self._end.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _begin_session(self) -> None:
        """Connect and ask for messages.

        Raises:
            LinkLostError: It cannot.
        """
        deadline = time.monotonic() + self.connect_timeout.total_seconds()
        link = self.connect(f"consumer of {self.group}", deadline)
        try:
            self.prepare(link, deadline)
            self._session += 1
            self._has_received = False
            with link.asking(deadline) as channel:
                channel.basic_qos(0, self.prefetch, a_global=False)
                for queue in self.queues:
                    channel.basic_consume(
                        queue,
                        callback=functools.partial(self._receive, queue, self._session),
                        on_cancel=functools.partial(_cancelled, queue),
                    )
        except BaseException:
            link.fail(LinkLostError("consuming did not begin"))
            raise
        self._link = link
        _logger.info("%s is connected", link.name)

    def _consume(self) -> None:
        """Take messages and acknowledge, until the end.

        Raises:
            LinkLostError: The connection is lost.
        """
        link = self._link
        while link is not None:
            has_ended = self._end.is_set()
            self._acknowledge(link)
            link.turn()
            link.check()
            if has_ended:
                return
            if not self._done_with:
                link.transport.wait(link.beat_seconds)

    def _receive(self, queue: str, session: int, message: Any) -> None:  # noqa: ANN401
        is_first, self._has_received = not self._has_received, True
        self._lanes.put(received(message, queue=queue, session=session, is_first=is_first))

    def _acknowledge(self, link: BrokerLink) -> None:
        while self._done_with and link.failure is None:
            message = self._done_with.popleft()
            if message.session != self._session:
                _logger.info(
                    "%s was done with when its connection was lost: it comes again", message
                )
                continue
            with link.asking(0.0) as channel:
                channel.basic_ack(message.delivery_tag)

    def _end_session(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close(time.monotonic() + _GOODBYE_SECONDS)
        self._lanes.drop()


def _cancelled(queue: str, _: str) -> None:
    raise LinkLostError(f"RabbitMQ delivers queue {queue!r} no more: deleted, or its node is away")
