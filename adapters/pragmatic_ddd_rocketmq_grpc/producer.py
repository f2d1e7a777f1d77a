"""A producer: many messages under way at once, one attempt each.

    NEW ──start──▶ RUNNING ──close──▶ CLOSING ──▶ CLOSED
     ▲               │
     └──── failed ───┘

The client's own ``send`` and ``send_async`` repeat what fails, also after their caller has given
up: the outbox would try again beside them, and events would arrive late and in the wrong order.
So a send is one call of the protocol, with one deadline, on the client's own connection.
"""

import datetime as dt
import enum
import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any

import attrs

from pragmatic_ddd_rocketmq_grpc.channel_renewal import ChannelRenewal
from pragmatic_ddd_rocketmq_grpc.connection import Connection, shut_down, whole_seconds
from pragmatic_ddd_rocketmq_grpc.errors import (
    SEND_ERRORS,
    NotAvailableError,
    NotConfirmedError,
    RefusedForNowError,
    RocketMqGrpcStartError,
    SendError,
)
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.routes import Routes
from pragmatic_ddd_rocketmq_grpc.send_request import send_request
from pragmatic_ddd_rocketmq_grpc.sending import Send, Sending, SendReceipt

_logger = logging.getLogger(__name__)

_MARGIN = dt.timedelta(seconds=1)  # for threads that wait for their turn
_NO_TOPIC = "pragmatic-ddd-is-anybody-there"


class _State(enum.Enum):
    NEW = "not started"
    RUNNING = "running"
    CLOSING = "being shut down"
    CLOSED = "shut down"


def longest_call(timeout: dt.timedelta) -> dt.timedelta:
    """Return the upper bound of ``Producer.send`` and ``send_many``.

    One timeout, in whole seconds, for the route of a topic that was not sent to before. Two for
    the sending, for not all messages of a call may fit into the first window. And a second for a
    busy machine.

    Args:
        timeout: How long the answer to one request may take.
    """
    return whole_seconds(timeout) + timeout * 2 + _MARGIN


@attrs.define(eq=False, kw_only=True)
class Producer:
    """Sends messages, one attempt each, from any number of threads.

    Attributes:
        connection: How to reach the proxy.
        window: How many messages of one call are under way at once.
    """

    connection: Connection
    window: int
    _state: _State = attrs.field(default=_State.NEW, init=False)
    _client: Any = attrs.field(default=None, init=False, repr=False)
    _routes: Routes | None = attrs.field(default=None, init=False, repr=False)
    _sending: Sending | None = attrs.field(default=None, init=False, repr=False)
    _in_flight: "set[Future[Any]]" = attrs.field(factory=set, init=False, repr=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)
    _pid: int = attrs.field(factory=os.getpid, init=False)

    def start(self) -> None:
        """Make the client, in the process that is to send; the proxy may come later.

        Raises:
            RocketMqGrpcStartError: It did not start and may be started again; or it was started
                before, here or before a fork.
        """
        with self._lock:
            if self._state is not _State.NEW:
                raise RocketMqGrpcStartError(f"the producer is {self._state.value}")
            self._client = self.connection.started_producer()
            self._routes = Routes(connection=self.connection, client=self._client)
            self._sending = Sending(
                connection=self.connection,
                client=self._client,
                channels=ChannelRenewal(connection=self.connection, client=self._client),
                window=self.window,
            )
            self._pid = os.getpid()
            self._state = _State.RUNNING

    def send(self, message: OutgoingMessage) -> SendReceipt:
        """Hand over one message, once; return when the broker has confirmed it.

        Two sends of the same group must not overlap: they would lose their order.

        Raises:
            RefusedMessageError: It will never be taken.
            RefusedForNowError: The topic is missing, forbidden or of another type.
            NotAvailableError: This producer, or the proxy, cannot be used now.
            NotConfirmedError: The broker did not confirm; it may or may not have it.
        """
        (answer,) = self.send_many([message])
        if isinstance(answer, SendReceipt):
            return answer
        raise answer

    def send_many(self, messages: Sequence[OutgoingMessage]) -> list[SendReceipt | SendError]:
        """Hand over messages of different groups, each once; return what became of each.

        One that fails does not keep the others. Never raises for the proxy's sake.
        """
        if not messages:
            return []
        timeout = self.connection.timeout
        deadline = time.monotonic() + (longest_call(timeout) - _MARGIN).total_seconds()
        addressed = self._addressed(messages, deadline - timeout.total_seconds())
        sends = [each for each in addressed if isinstance(each, Send)]
        answers = iter(self._answers_to(sends, deadline))
        return [next(answers) if isinstance(each, Send) else each for each in addressed]

    def check(self, topics: Sequence[str]) -> None:
        """See whether the proxy answers, and has those topics.

        Raises:
            RefusedForNowError: It does not have one.
            NotAvailableError: It does not answer.
            NotConfirmedError: It does not say why.
        """
        routes, obstacle = self._obstacle()
        if routes is None:
            raise obstacle
        for topic in topics:
            routes.readable(topic)
        if not topics:
            with suppress(RefusedForNowError):  # an answer
                routes.readable(_NO_TOPIC)

    def close(self, *, within: dt.timedelta) -> bool:
        """Refuse new sends, wait for those under way, shut the client down, once.

        A second call does nothing.

        Args:
            within: How long to wait for the sends; the end of the client may take 10 s more.

        Returns:
            Whether it is shut down.
        """
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self._state is _State.NEW:
                self._state = _State.CLOSED
            if self._state is not _State.RUNNING:
                return self._state is _State.CLOSED
            self._state = _State.CLOSING
            under_way = set(self._in_flight)
        left = wait_for(under_way, timeout=within.total_seconds()).not_done
        for future in left:
            future.cancel()
        is_down = shut_down(self._client)
        if not is_down:
            _logger.error("the producer does not shut down; its threads end with the process")
        self._state = _State.CLOSED
        return is_down

    def _addressed(
        self, messages: Sequence[OutgoingMessage], deadline: float
    ) -> list[Send | SendError]:
        """Find out where each goes; a topic that has no route is asked for once."""
        routes, obstacle = self._obstacle()
        if routes is None:
            return [obstacle] * len(messages)
        errors: dict[str, SendError] = {}
        addressed: list[Send | SendError] = []
        for message in messages:
            try:
                if message.topic in errors:
                    raise errors[message.topic]
                addressed.append(self._addressed_one(routes, message, deadline))
            except SEND_ERRORS as error:
                errors[message.topic] = error
                addressed.append(error)
        return addressed

    def _addressed_one(self, routes: Routes, message: OutgoingMessage, deadline: float) -> Send:
        address = routes.address(message.topic, message.message_group, deadline=deadline)
        library = self.connection.library
        return Send(message, address, send_request(library, message, self.connection.namespace))

    def _answers_to(
        self, sends: Sequence[Send], deadline: float
    ) -> Sequence[SendReceipt | SendError]:
        if not sends:
            return []
        with self._lock:
            if self._state is not _State.RUNNING or self._sending is None:
                _, obstacle = self._obstacle()
                return [obstacle] * len(sends)
            future = self.connection.run(self._sending.send_all(sends, deadline))
            self._in_flight.add(future)
            future.add_done_callback(self._in_flight.discard)
        remaining = deadline - time.monotonic() + _MARGIN.total_seconds()
        try:
            return future.result(max(0.0, remaining))
        except FutureTimeoutError:
            future.cancel()
            return [NotConfirmedError("no answer in time")] * len(sends)
        except CancelledError:
            return [NotConfirmedError("the producer was shut down meanwhile")] * len(sends)

    def _obstacle(self) -> tuple[Routes | None, NotAvailableError]:
        """Return the routes, or why nothing can be sent. Asks for the process before any lock."""
        if self._pid != os.getpid():
            return None, NotAvailableError(
                f"the producer was made before fork, in process {self._pid}; make and start it "
                f"in the worker"
            )
        error = NotAvailableError(f"the producer is {self._state.value}")
        return (self._routes if self._state is _State.RUNNING else None), error
