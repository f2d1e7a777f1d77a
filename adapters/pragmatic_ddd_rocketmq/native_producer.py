"""A producer of the native client, with a guard before each thing that would end the process.

    NEW ──start──▶ RUNNING ──close──▶ CLOSING ──┬──▶ CLOSED
     ▲               │                          └──▶ ABANDONED   a native call does not return
     └──── failed ───┘

Calls before the start, after the shutdown and beside it are segmentation faults in the library,
so that every call is counted under a lock.
"""

import datetime as dt
import enum
import itertools
import logging
import os
import threading
import time

import attrs

from pragmatic_ddd_rocketmq.credentials import Credentials
from pragmatic_ddd_rocketmq.errors import NotSentError, RocketMqStartError
from pragmatic_ddd_rocketmq.first_sends import FirstSends
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

_logger = logging.getLogger(__name__)

_OK = 0
_LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024
_LOG_LEVEL_WARN = 3
_SHUTDOWN_BOUND = dt.timedelta(seconds=10)
_GLANCE_SECONDS = 0.005
_instances = itertools.count(1)


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
    _handle: int | None = attrs.field(default=None, init=False, repr=False)
    _in_flight: int = attrs.field(default=0, init=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)
    _first_sends: FirstSends = attrs.field(factory=FirstSends, init=False, repr=False)
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
        handle = None
        try:
            handle = self._started_handle()
        finally:
            with self._lock:
                self._handle = handle
                self._pid = os.getpid()
                self._state = _State.NEW if handle is None else _State.RUNNING
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
        """Refuse new sends, wait for those in flight, disconnect. A second call does nothing.

        Args:
            within: How long to wait for the sends in flight; the native shutdown may take
                10 s more.

        Returns:
            Whether it is disconnected; where not, it stays until the process ends.
        """
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self._state is _State.NEW:
                self._state = _State.CLOSED
            if self._state is not _State.RUNNING:
                return self._state is _State.CLOSED
            self._state = _State.CLOSING
        gone = self._becomes_idle(within) and self._shut_down()
        self._helper.stop()
        self._state = _State.CLOSED if gone else _State.ABANDONED
        if gone:
            let_go(self)
        else:
            _logger.error(
                "producer of %s: a native call does not return; its threads stay until the "
                "process ends",
                self.group,
            )
        return gone

    def end(self) -> bool:
        """Close it, because the process ends."""
        return self.close(within=self.send_timeout + dt.timedelta(seconds=1))

    def _started_handle(self) -> int:
        native = self.library.functions
        name_servers = self.name_servers.resolved()
        keep_until_end(self)
        handle: int = native.CreateOrderlyProducer(self.group.encode())
        instance = f"pragmatic-ddd-{os.getpid()}-{next(_instances)}"
        native.SetProducerInstanceName(handle, instance.encode())
        native.SetProducerNameServerAddress(handle, str(name_servers).encode())
        native.SetProducerSendMsgTimeout(handle, int(self.send_timeout.total_seconds() * 1000))
        native.SetProducerMaxMessageSize(handle, _LARGEST_MESSAGE_BYTES)
        native.SetProducerLogLevel(handle, _LOG_LEVEL_WARN)
        if self.credentials is not None:
            native.SetProducerSessionCredentials(handle, *self.credentials.encoded())
        if native.StartProducer(handle) == _OK:
            return handle
        reason = self.library.last_error()
        native.DestroyProducer(handle)
        let_go(self)
        raise RocketMqStartError(
            f"producer of {self.group} at {self.name_servers} did not start: {reason}; where this "
            f"is about a file or folder, set rocketmq.log-folder to one that can be written"
        )

    def _send_for_main_thread(self, message: OutgoingMessage) -> SendReceipt:
        with self._lock:
            self._check_running()
        try:
            return self._helper.call(lambda: self._send(message))
        except HelperEndedError as error:
            raise NotSentError(f"producer of {self.group} is {self._state.value}") from error

    def _send(self, message: OutgoingMessage) -> SendReceipt:
        with self._lock:
            handle = self._check_running()
            self._in_flight += 1
        try:
            if self._first_sends.are_over(message.topic):
                return attempt(self.library, handle, message, self.name_servers)
            with self._first_sends.alone(message.topic):
                return attempt(self.library, handle, message, self.name_servers)
        finally:
            with self._lock:
                self._in_flight -= 1

    def _check_running(self) -> int:
        if self._state is not _State.RUNNING or self._handle is None:
            raise NotSentError(f"producer of {self.group} is {self._state.value}")
        return self._handle

    def _refuse_other_process(self) -> None:
        """Refuse before any lock: the parent may have held it while it forked."""
        if self._pid != os.getpid():
            raise NotSentError(
                f"producer of {self.group} was made before fork, in process {self._pid}; "
                f"make and start it in the worker"
            )

    def _becomes_idle(self, within: dt.timedelta) -> bool:
        deadline = time.monotonic() + within.total_seconds()
        while self._in_flight > 0 and time.monotonic() < deadline:
            time.sleep(_GLANCE_SECONDS)
        return self._in_flight == 0

    def _shut_down(self) -> bool:
        """Disconnect, on the helper's thread, because the call may never return."""
        native = self.library.functions
        handle = self._handle
        if not self._helper.is_done(
            lambda: native.ShutdownProducer(handle), within=_SHUTDOWN_BOUND
        ):
            return False
        native.DestroyProducer(handle)
        self._handle = None
        return True
