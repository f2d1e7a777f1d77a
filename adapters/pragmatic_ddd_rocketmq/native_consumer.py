"""A consumer of the native client: orderly, with one callback for all its topics.

    NEW ──start──▶ RUNNING ──close──▶ CLOSING ──┬──▶ CLOSED    from librocketmq 2.2.0 on
     ▲               │                          └──▶ STOPPED   stays until the process ends
     └──── failed ───┘

Orderly, because the concurrent consumer of the library mixes up the events of an aggregate, and
drags a whole batch along with one message that failed. Before 2.2.0 a consumer cannot be shut
down (SIGSEGV): it stops taking messages, and the process must end soon, because until then no
other member of the group is given its queues.
"""

import datetime as dt
import enum
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import attrs
from attrs import validators

from pragmatic_ddd.application.events import Failure, Redeliveries
from pragmatic_ddd_rocketmq.credentials import Credentials
from pragmatic_ddd_rocketmq.errors import RocketMqStartError
from pragmatic_ddd_rocketmq.helper_thread import HelperThread
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import MessageCallback, NativeLibrary
from pragmatic_ddd_rocketmq.process_end import keep_until_end, let_go, refuse_after_fork
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage, copied, message_id_of
from pragmatic_ddd_rocketmq.settlement import Settlement

_logger = logging.getLogger(__name__)

_OK = 0
_CONSUME_SUCCESS = 0
_RECONSUME_LATER = 1
_LOG_LEVEL_WARN = 3
_ALL_TAGS = b"*"  # members of a group must subscribe alike, also while a deploy is rolling
_SHUTDOWN_BOUND = dt.timedelta(seconds=10)
_END_BOUND = dt.timedelta(seconds=10)
_GLANCE_SECONDS = 0.005
_instances = itertools.count(1)
_callbacks: list[Any] = []  # what native threads may call, for as long as the process lives
_stopped_groups: set[str] = set()  # groups of which a consumer in this process holds queues


class _State(enum.Enum):
    NEW = "not started"
    STARTING = "being started"
    RUNNING = "running"
    CLOSING = "being shut down"
    CLOSED = "shut down"
    STOPPED = "stopped"


def _never(_: BaseException) -> bool:
    return False


@attrs.define(eq=False, kw_only=True)
class NativeConsumer:
    """Calls a handler for each message, in the order of each queue, on native threads.

    Attributes:
        library: The loaded library.
        name_servers: Where routes are asked for.
        group: The consumers that share the messages among them.
        topics: What to consume; each must exist, or its messages come up to a minute late.
        handler: Called with each message; whatever it raises means that it failed.
        bury: Called with a message that is given up; whatever it raises keeps the message.
        redeliveries: When a message is tried again, and when it is given up.
        is_final: Whether an error of the handler makes further tries useless.
        properties: Names of the properties that the handler wants.
        threads: How many messages may be handled at once, each of another queue.
        credentials: The account, where the brokers ask for one.
    """

    library: NativeLibrary
    name_servers: NameServers
    group: str
    topics: Sequence[str]
    handler: Callable[[ReceivedMessage], None]
    bury: Callable[[ReceivedMessage, Failure], None]
    redeliveries: Redeliveries
    is_final: Callable[[BaseException], bool] = _never
    properties: Sequence[str] = ()
    threads: int = attrs.field(default=8, validator=validators.ge(1))
    credentials: Credentials | None = None
    _settlement: Settlement = attrs.field(init=False, repr=False)
    _state: _State = attrs.field(default=_State.NEW, init=False)
    _handle: int | None = attrs.field(default=None, init=False, repr=False)
    _taking: bool = attrs.field(default=False, init=False)
    _in_flight: int = attrs.field(default=0, init=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)
    _helper: HelperThread = attrs.field(factory=HelperThread, init=False, repr=False)
    _gate: "threading.Lock" = attrs.field(factory=threading.Lock, init=False, repr=False)
    _parked: bool = attrs.field(default=False, init=False)
    _pid: int = attrs.field(factory=os.getpid, init=False)

    def __attrs_post_init__(self) -> None:
        self._settlement = Settlement(
            handler=self.handler,
            bury=self.bury,
            redeliveries=self.redeliveries,
            is_final=self.is_final,
        )

    def start(self) -> None:
        """Join the group and begin to consume.

        Raises:
            RocketMqStartError: It did not start and may be started again; or it was started
                before, here or before a fork; or a consumer of the group was stopped in this
                process and still holds queues.
        """
        refuse_after_fork()
        with self._lock:
            if self._state is not _State.NEW:
                raise RocketMqStartError(f"consumer of {self.group} is {self._state.value}")
            if self.group in _stopped_groups:
                raise RocketMqStartError(
                    f"a consumer of {self.group} was stopped in this process and holds its "
                    f"queues until the process ends ({self.library.version_text}): end the "
                    f"process, or install librocketmq 2.2 or newer"
                )
            self._state = _State.STARTING
            self._taking = True
        handle = None
        try:
            handle = self._started_handle()
        finally:
            with self._lock:
                self._handle = handle
                self._pid = os.getpid()
                self._state = _State.NEW if handle is None else _State.RUNNING
        self._helper.start()

    def close(self, *, within: dt.timedelta) -> bool:
        """Take no more messages, wait for the handlers at work, and leave the group.

        A second call does nothing.

        Args:
            within: How long to wait for the handlers; leaving may take 10 s more.

        Returns:
            Whether it has left; where not, it keeps its queues until the process ends.
        """
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self._state is _State.NEW:
                self._state = _State.CLOSED
            if self._state is not _State.RUNNING:
                return self._state is _State.CLOSED
            self._state = _State.CLOSING
            self._taking = False
        idle = self._becomes_idle(within)
        left = idle and self.library.can_shut_down_consumers and self._shut_down()
        self._helper.stop()
        self._state = _State.CLOSED if left else _State.STOPPED
        if left:
            let_go(self)
        else:
            _stopped_groups.add(self.group)
            self._log_stop(idle=idle)
        return left

    def end(self) -> None:
        """Close it, because the process ends, and keep native threads out of Python."""
        if not self.close(within=_END_BOUND) and not self._parked:
            self._gate.acquire()
            self._parked = True

    def _started_handle(self) -> int:
        native = self.library.functions
        name_servers = self.name_servers.resolved()
        keep_until_end(self)
        handle: int = native.CreatePushConsumer(self.group.encode())
        callback = MessageCallback(self._deliver)
        _callbacks.append(callback)
        instance = f"pragmatic-ddd-consumer-{os.getpid()}-{next(_instances)}"
        native.SetPushConsumerInstanceName(handle, instance.encode())
        native.SetPushConsumerNameServerAddress(handle, str(name_servers).encode())
        native.SetPushConsumerThreadCount(handle, self.threads)
        native.SetPushConsumerMessageBatchMaxSize(handle, 1)
        native.SetPushConsumerLogLevel(handle, _LOG_LEVEL_WARN)
        if self.credentials is not None:
            native.SetPushConsumerSessionCredentials(handle, *self.credentials.encoded())
        for topic in self.topics:
            native.Subscribe(handle, topic.encode(), _ALL_TAGS)
        self.library.register_orderly(handle, callback)
        if native.StartPushConsumer(handle) == _OK:
            return handle
        let_go(self)  # its handle is left alone: destroying what failed to start is untried
        raise RocketMqStartError(
            f"consumer of {self.group} at {self.name_servers} did not start: "
            f"{self.library.last_error()}"
        )

    def _deliver(self, _consumer: int | None, handle: int) -> int:
        """Answer the library; anything but a status would be whatever lies on its stack."""
        try:
            return self._consume(handle)
        except BaseException:
            with suppress(BaseException):
                _logger.exception("consumer of %s failed on a message", self.group)
            return _RECONSUME_LATER

    def _consume(self, handle: int) -> int:
        if self._parked:
            self._gate.acquire()  # never released: the process is ending
        with self._counted() as taking:
            message_id = message_id_of(self.library.functions, handle)
            if not taking or self.redeliveries.is_waiting(message_id):
                return _RECONSUME_LATER
            message = copied(self.library.functions, handle, self.properties)
            return _CONSUME_SUCCESS if self._settlement.is_reached(message) else _RECONSUME_LATER

    @contextmanager
    def _counted(self) -> Iterator[bool]:
        with self._lock:
            taking = self._taking
            self._in_flight += taking
        try:
            yield taking
        finally:
            if taking:
                with self._lock:
                    self._in_flight -= 1

    def _becomes_idle(self, within: dt.timedelta) -> bool:
        deadline = time.monotonic() + within.total_seconds()
        while self._in_flight > 0 and time.monotonic() < deadline:
            time.sleep(_GLANCE_SECONDS)
        return self._in_flight == 0

    def _shut_down(self) -> bool:
        """Leave the group, on the helper's thread, because the call may never return."""
        native = self.library.functions
        handle = self._handle
        return self._helper.is_done(
            lambda: native.ShutdownPushConsumer(handle), within=_SHUTDOWN_BOUND
        )

    def _log_stop(self, *, idle: bool) -> None:
        if not idle:
            _logger.error(
                "consumer of %s: a handler is still at work; its message will come again",
                self.group,
            )
        _logger.warning(
            "consumer of %s takes no more messages, but keeps its queues until this process "
            "ends (%s)",
            self.group,
            self.library.version_text,
        )
