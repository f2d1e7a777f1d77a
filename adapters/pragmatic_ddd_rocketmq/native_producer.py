"""A producer of the native client, with a guard before each thing that would end the process.

    NEW ──start──▶ RUNNING ──close──▶ CLOSING ──┬──▶ CLOSED
     ▲               │                          └──▶ ABANDONED   a native call does not return
     └──── failed ───┘

A call before the start is a segmentation fault in the library, and two users of one producer
would not know of each other's sends. So every send is counted before it looks whether it may go:
whoever closes the producer forbids it first and counts then. Without a lock: for one, threads that
send would wait for each other, and each of them for the interpreter once more.
"""

import datetime as dt
import enum
import logging
import os
import threading
import time
from collections import deque

import attrs

from pragmatic_ddd_rocketmq.credentials import Credentials
from pragmatic_ddd_rocketmq.errors import NotSentError, RocketMqStartError
from pragmatic_ddd_rocketmq.helper_thread import (
    HelperEndedError,
    HelperThread,
    is_main_thread,
)
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import NativeLibrary
from pragmatic_ddd_rocketmq.native_send import SendReceipt, attempt
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq.process_end import keep_until_end, let_go, refuse_after_fork
from pragmatic_ddd_rocketmq.started_producer import (
    ProducerSettings,
    StartedProducer,
    keep,
    start_or_reuse,
)

_logger = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.005


class _State(enum.Enum):
    NEW = "not started"
    STARTING = "being started"
    RUNNING = "running"
    CLOSING = "being shut down"
    CLOSED = "shut down"
    ABANDONED = "given up: a native call does not return"


@attrs.define(eq=False, kw_only=True)
class NativeProducer:
    """Sends messages, one attempt each, from any number of threads.

    Attributes:
        library: The loaded library.
        name_servers: Where routes are asked for.
        group: The producers that belong together.
        send_timeout: How long the broker may take to confirm.
        credentials: The account, where the brokers ask for one.
    """

    library: NativeLibrary
    name_servers: NameServers
    group: str
    send_timeout: dt.timedelta
    credentials: Credentials | None = None
    _state: _State = attrs.field(default=_State.NEW, init=False)
    _started: StartedProducer | None = attrs.field(default=None, init=False, repr=False)
    _in_flight: deque[None] = attrs.field(factory=deque, init=False, repr=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)
    _helper: HelperThread = attrs.field(factory=HelperThread, init=False, repr=False)
    _pid: int = attrs.field(factory=os.getpid, init=False)

    def start(self) -> None:
        """Connect, in the process that is to send.

        Raises:
            RocketMqStartError: It did not start and may be started again; or it was started
                before, here or before a fork.
        """
        refuse_after_fork()
        with self._lock:
            if self._state is not _State.NEW:
                raise RocketMqStartError(f"producer of {self.group} is {self._state.value}")
            self._state = _State.STARTING
        started = None
        try:
            started = self._start()
        finally:
            with self._lock:
                self._started = started
                self._pid = os.getpid()
                self._state = _State.NEW if started is None else _State.RUNNING
        self._helper.start()

    def send(self, message: OutgoingMessage) -> SendReceipt:
        """Hand over one message, once; return when the broker has confirmed it.

        Two sends of the same sharding key must not overlap: they would lose their order.

        Raises:
            NotSentError: This producer cannot send now; the message was not sent.
            NotConfirmedError: The broker did not confirm; it may or may not have it.
        """
        self._refuse_other_process()
        if is_main_thread():
            return self._send_for_main_thread(message)
        return self._send(message)

    def close(self, *, within: dt.timedelta) -> bool:
        """Refuse new sends, and wait for those in flight. A second call does nothing.

        The connection stays until the process ends: see ``started_producer``.

        Args:
            within: How long to wait for the sends in flight.

        Returns:
            Whether all of them have ended.
        """
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self._state is _State.NEW:
                self._state = _State.CLOSED
            if self._state is not _State.RUNNING:
                return self._state is _State.CLOSED
            self._state = _State.CLOSING
        idle = self._becomes_idle(within)
        self._helper.stop()
        self._state = _State.CLOSED if idle else _State.ABANDONED
        if idle:
            self._give_back()
            let_go(self)
        else:
            _logger.error(
                "producer of %s: a native call does not return; its threads stay until the "
                "process ends",
                self.group,
            )
        return idle

    def end(self) -> None:
        """Close it, because the process ends."""
        self.close(within=self.send_timeout + dt.timedelta(seconds=1))

    def _start(self) -> StartedProducer:
        settings = ProducerSettings(
            library=self.library,
            name_servers=self.name_servers.resolved(),
            group=self.group,
            send_timeout=self.send_timeout,
            credentials=self.credentials,
        )
        keep_until_end(self)
        try:
            return start_or_reuse(settings)
        except BaseException:
            let_go(self)
            raise

    def _give_back(self) -> None:
        started, self._started = self._started, None
        if started is not None:
            keep(started)

    def _send_for_main_thread(self, message: OutgoingMessage) -> SendReceipt:
        self._check_running()
        try:
            return self._helper.call(lambda: self._send(message))
        except HelperEndedError as error:
            raise NotSentError(f"producer of {self.group} is {self._state.value}") from error

    def _send(self, message: OutgoingMessage) -> SendReceipt:
        self._in_flight.append(None)
        try:
            started = self._check_running()
            if started.first_sends.are_over(message.topic):
                return self._attempt(started, message)
            with started.first_sends.alone(message.topic):
                return self._attempt(started, message)
        finally:
            self._in_flight.pop()

    def _attempt(self, started: StartedProducer, message: OutgoingMessage) -> SendReceipt:
        return attempt(self.library, started.handle, message, self.name_servers)

    def _check_running(self) -> StartedProducer:
        if self._state is not _State.RUNNING or self._started is None:
            raise NotSentError(f"producer of {self.group} is {self._state.value}")
        return self._started

    def _refuse_other_process(self) -> None:
        """Refuse before any lock: the parent may have held it while it forked."""
        if self._pid != os.getpid():
            raise NotSentError(
                f"producer of {self.group} was made before fork, in process {self._pid}; "
                f"make and start it in the worker"
            )

    def _becomes_idle(self, within: dt.timedelta) -> bool:
        deadline = time.monotonic() + within.total_seconds()
        while self._in_flight and time.monotonic() < deadline:
            time.sleep(_GLANCE_SECONDS)
        return not self._in_flight
