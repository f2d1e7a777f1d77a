"""Producers that the native client has started: they stay so until the process ends.

    start_or_reuse ──▶ in use ──▶ keep ──▶ idle ──start_or_reuse, with the same settings──▶ in use

None is ever shut down, because that may end the process. The library interrupts its thread that
asks for routes, every 30 s and a little after the start. Where that thread is just replacing a
route, the interrupt leaves a destructor, which C++ answers with ``abort`` (librocketmq 2.1.0:
``boost::thread_interrupted`` in ``~TopicPublishInfo``; after some 200 shutdowns of 60 producers
that lived 15 s each on two busy cores). An idle one costs its threads and a heartbeat every 30 s.
"""

import datetime as dt
import itertools
import os
import threading

import attrs

from pragmatic_ddd_rocketmq.credentials import Credentials
from pragmatic_ddd_rocketmq.errors import RocketMqStartError
from pragmatic_ddd_rocketmq.first_sends import FirstSends
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import NativeLibrary

_OK = 0
_LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024
_LOG_LEVEL_WARN = 3
_instances = itertools.count(1)


@attrs.frozen(kw_only=True)
class ProducerSettings:
    """What a producer is started with, and cannot be changed later.

    Attributes:
        library: The loaded library.
        name_servers: Where routes are asked for, resolved.
        group: The producers that belong together.
        send_timeout: How long the broker may take to confirm.
        credentials: The account, where the brokers ask for one.
    """

    library: NativeLibrary = attrs.field(eq=id)
    name_servers: NameServers
    group: str
    send_timeout: dt.timedelta
    credentials: Credentials | None = None


@attrs.frozen(eq=False)
class StartedProducer:
    """A producer that is connected.

    Attributes:
        handle: What the library calls it.
        settings: What it was started with.
        first_sends: The topics that it knows the way to.
    """

    handle: int
    settings: ProducerSettings
    first_sends: FirstSends = attrs.field(factory=FirstSends, init=False)


@attrs.frozen
class _Idle:
    """The producers that nobody uses. Global, because the library's threads are."""

    producers: list[StartedProducer] = attrs.field(factory=list)
    lock: "threading.RLock" = attrs.field(factory=threading.RLock)  # a handler may shut down


_idle = _Idle()


def start_or_reuse(settings: ProducerSettings) -> StartedProducer:
    """Return a producer that nobody else uses.

    Raises:
        RocketMqStartError: It did not start.
    """
    with _idle.lock:
        for place, producer in enumerate(_idle.producers):
            if producer.settings == settings:
                return _idle.producers.pop(place)
    return StartedProducer(_started_handle(settings), settings)


def keep(producer: StartedProducer) -> None:
    """Keep a producer in which no call is under way for the next who needs one like it."""
    with _idle.lock:
        _idle.producers.append(producer)


def _started_handle(settings: ProducerSettings) -> int:
    native = settings.library.functions
    handle: int = native.CreateOrderlyProducer(settings.group.encode())
    instance = f"pragmatic-ddd-{os.getpid()}-{next(_instances)}"
    native.SetProducerInstanceName(handle, instance.encode())
    native.SetProducerNameServerAddress(handle, str(settings.name_servers).encode())
    native.SetProducerSendMsgTimeout(handle, int(settings.send_timeout.total_seconds() * 1000))
    native.SetProducerMaxMessageSize(handle, _LARGEST_MESSAGE_BYTES)
    native.SetProducerLogLevel(handle, _LOG_LEVEL_WARN)
    if settings.credentials is not None:
        native.SetProducerSessionCredentials(handle, *settings.credentials.encoded())
    if native.StartProducer(handle) == _OK:
        return handle
    reason = settings.library.last_error()
    native.DestroyProducer(handle)
    raise RocketMqStartError(
        f"producer of {settings.group} at {settings.name_servers} did not start: {reason}; where "
        f"this is about a file or folder, set rocketmq.log-folder to one that can be written"
    )
