"""A producer: many messages under way at once, one attempt each.

    NEW ──start──▶ RUNNING ──close──▶ CLOSING ──▶ CLOSED
     ▲               │
     └──── failed ───┘

The client's own ``send`` and ``send_async`` repeat what fails, also after their caller has given
up: the outbox would try again beside them, and events would arrive late and in the wrong order.
So a send is one call of the protocol, with one deadline, on the client's own connection.
"""

import asyncio
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

from pragmatic_ddd_rocketmq_grpc.answers import OK, failure, name_of, refusal
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

_logger = logging.getLogger(__name__)

_MARGIN = dt.timedelta(seconds=1)  # for threads that wait for their turn
_NO_TOPIC = "pragmatic-ddd-is-anybody-there"
_SHORTEST_SEND_SECONDS = 0.05


class _State(enum.Enum):
    NEW = "not started"
    RUNNING = "running"
    CLOSING = "being shut down"
    CLOSED = "shut down"


@attrs.frozen(kw_only=True)
class SendReceipt:
    """What the proxy answered to a message that the broker has stored.

    Attributes:
        message_id: The id that the client gave it.
        queue_offset: Its place in its queue. Which queue that is, the answer does not say.
    """

    message_id: str
    queue_offset: int


@attrs.frozen
class _Send:
    """One message with its address."""

    message: OutgoingMessage
    address: Any
    request: Any


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
    _channels: ChannelRenewal | None = attrs.field(default=None, init=False, repr=False)
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
            self._channels = ChannelRenewal(connection=self.connection, client=self._client)
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
        sends = [each for each in addressed if isinstance(each, _Send)]
        answers = iter(self._answers_to(sends, deadline))
        return [next(answers) if isinstance(each, _Send) else each for each in addressed]

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
    ) -> list[_Send | SendError]:
        """Find out where each goes; a topic that has no route is asked for once."""
        routes, obstacle = self._obstacle()
        if routes is None:
            return [obstacle] * len(messages)
        errors: dict[str, SendError] = {}
        addressed: list[_Send | SendError] = []
        for message in messages:
            try:
                if message.topic in errors:
                    raise errors[message.topic]
                addressed.append(self._addressed_one(routes, message, deadline))
            except SEND_ERRORS as error:
                errors[message.topic] = error
                addressed.append(error)
        return addressed

    def _addressed_one(self, routes: Routes, message: OutgoingMessage, deadline: float) -> _Send:
        address = routes.address(message.topic, message.message_group, deadline=deadline)
        library = self.connection.library
        return _Send(message, address, send_request(library, message, self.connection.namespace))

    def _answers_to(
        self, sends: Sequence[_Send], deadline: float
    ) -> Sequence[SendReceipt | SendError]:
        if not sends:
            return []
        with self._lock:
            if self._state is not _State.RUNNING:
                _, obstacle = self._obstacle()
                return [obstacle] * len(sends)
            future = self.connection.run(self._send_all(sends, deadline))
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

    async def _send_all(
        self, sends: Sequence[_Send], deadline: float
    ) -> list[SendReceipt | SendError]:
        """Send all of them, a window at a time; runs on the thread of the clients."""
        window = asyncio.Semaphore(self.window)

        async def sent(send: _Send) -> SendReceipt | SendError:
            async with window:
                return await self._send_one(send, deadline)

        return list(await asyncio.gather(*map(sent, sends)))

    async def _send_one(self, send: _Send, deadline: float) -> SendReceipt | SendError:
        seconds = min(self.connection.timeout.total_seconds(), deadline - time.monotonic())
        where = f"topic {send.message.topic} at {send.address}"
        if seconds < _SHORTEST_SEND_SECONDS:
            return NotAvailableError(f"not sent, for those before it took too long ({where})")
        channels = self._channels
        try:
            response = await self.connection.stub(self._client, send.address).SendMessage(
                send.request, metadata=self._client.sign(), timeout=seconds
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return NotConfirmedError(f"the connection was closed meanwhile ({where})")
        except Exception as error:  # noqa: BLE001 - gRPC's, or the client's
            if channels is not None:
                channels.failed(send.address)
            return failure(error, where)
        if channels is not None:
            channels.answered(send.address)
        return self._answer(response, where)

    def _answer(self, response: Any, where: str) -> SendReceipt | SendError:  # noqa: ANN401
        protocol = self.connection.library.protocol
        entry = response.entries[0] if response.entries else None
        for status in (response.status, *([] if entry is None else [entry.status])):
            code = name_of(protocol, status.code)
            if code != OK:
                return refusal(code, status.message, where)
        if entry is None:
            return NotConfirmedError(f"an answer without a receipt ({where})")
        return SendReceipt(message_id=entry.message_id, queue_offset=entry.offset)

    def _obstacle(self) -> tuple[Routes | None, NotAvailableError]:
        """Return the routes, or why nothing can be sent. Asks for the process before any lock."""
        if self._pid != os.getpid():
            return None, NotAvailableError(
                f"the producer was made before fork, in process {self._pid}; make and start it "
                f"in the worker"
            )
        error = NotAvailableError(f"the producer is {self._state.value}")
        return (self._routes if self._state is _State.RUNNING else None), error
