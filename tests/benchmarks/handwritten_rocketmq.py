"""Sending by hand with the native client, as somebody does who knows what it is like.

One attempt a send, by ``SendMessageOrderly``: everything else repeats sends by itself, and out
of order. Threads take whole aggregates, whose events are sent one after the other; what is not
confirmed is sent again.
"""

import ctypes
import json
import os
import time
import zlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import attrs

from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd_rocketmq.native_library import (
    NativeLibrary,
    QueueSelector,
    SendResult,
    load_native_library,
)
from tests import servers
from tests.benchmarks.databases import BenchError

_OK = 0
_MOST_TRIES = 20
_PAUSE_SECONDS = 0.05
_TIMEOUT_MS = 3000
_LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024


def _select(queues: int, _: int | None, argument: int) -> int:
    return ctypes.c_uint32.from_address(argument).value % queues


_selector = QueueSelector(_select)


@attrs.frozen(kw_only=True)
class HandwrittenRocketMq:
    """A producer and its threads."""

    library: NativeLibrary
    handle: int
    topic: bytes
    threads: ThreadPoolExecutor
    side_by_side: int

    @classmethod
    @contextmanager
    def on(cls, topic: str, *, library: Path | None, threads: int) -> Iterator[Self]:
        loaded = load_native_library(library)
        native = loaded.functions
        handle = native.CreateOrderlyProducer(b"bench-by-hand")
        native.SetProducerInstanceName(handle, f"bench-by-hand-{os.getpid()}".encode())
        native.SetProducerNameServerAddress(handle, servers.rocketmq_name_server().encode())
        native.SetProducerSendMsgTimeout(handle, _TIMEOUT_MS)
        native.SetProducerMaxMessageSize(handle, _LARGEST_MESSAGE_BYTES)
        if native.StartProducer(handle) != _OK:
            raise BenchError("the bare producer does not start")
        with ThreadPoolExecutor(threads) as pool:  # no shutdown of the producer: that may abort
            yield cls(
                library=loaded,
                handle=handle,
                topic=topic.encode(),
                threads=pool,
                side_by_side=threads,
            )

    def send(self, messages: Sequence[OutboxMessage]) -> float:
        """Send all, and return how many seconds it has taken."""
        started = time.perf_counter()
        lanes: dict[str, list[OutboxMessage]] = defaultdict(list)
        for message in messages:
            lanes[message.aggregate_id].append(message)
        waiting = deque(lanes.values())
        work = [self.threads.submit(self._send_lanes, waiting) for _ in range(self.side_by_side)]
        receipts = [receipt for done in work for receipt in done.result()]
        if len(receipts) != len(messages):
            raise BenchError(f"{len(receipts)} of {len(messages)} are sent")
        return time.perf_counter() - started

    def _send_lanes(self, waiting: deque[list[OutboxMessage]]) -> list[str]:
        receipts: list[str] = []
        while True:
            try:
                lane = waiting.popleft()
            except IndexError:
                return receipts
            receipts += [self._confirmed(message) for message in lane]

    def _confirmed(self, message: OutboxMessage) -> str:
        for _ in range(_MOST_TRIES):
            result = SendResult()
            if self._attempt(message, result) == _OK and result.send_status == _OK:
                return f"{result.message_id.decode()} {result.queue_offset}"
            time.sleep(_PAUSE_SECONDS)
        raise BenchError("the broker does not confirm")

    def _attempt(self, message: OutboxMessage, result: Any) -> int:  # noqa: ANN401  # of ctypes
        native = self.library.functions
        key = message.aggregate_id.encode()
        sharding = ctypes.c_uint32(zlib.crc32(key))
        native_message = native.CreateMessage(self.topic)
        try:
            native.SetByteMessageBody(native_message, message.payload, len(message.payload))
            native.SetMessageKeys(native_message, message.message_id.encode())
            native.SetMessageTags(native_message, message.event_type.encode())
            for name, value in _properties(message, key):
                native.SetMessageProperty(native_message, name, value)
            return self.library.send_orderly(
                self.handle,
                native_message,
                _selector,
                ctypes.byref(sharding),
                0,
                ctypes.byref(result),
            )
        finally:
            native.DestroyMessage(native_message)


def _properties(message: OutboxMessage, key: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield what a consumer needs to know, which the adapter sends as well."""
    yield b"message_id", message.message_id.encode()
    yield b"aggregate_type", message.aggregate_type.encode()
    yield b"aggregate_id", key
    yield b"aggregate_version", b"%d" % (message.aggregate_version or 0)
    yield b"event_index", b"%d" % message.event_index
    yield b"event_type", message.event_type.encode()
    yield b"event_version", b"%d" % message.event_version
    yield b"headers", json.dumps(dict(message.headers), ensure_ascii=False).encode()
    yield b"__SHARDINGKEY", key
