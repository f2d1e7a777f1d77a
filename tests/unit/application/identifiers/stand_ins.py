"""Allocators that a test can see and stop, and threads that run when it says so."""

import threading
from collections.abc import Callable

import attrs

from pragmatic_ddd.errors import IdAllocationError
from pragmatic_ddd.ports.identifiers import IdSegment
from pragmatic_ddd_local import InMemorySegmentAllocator


@attrs.define(eq=False)
class WatchedAllocator:
    """Notes what it has reserved; fails, or waits for its callers, when it is told to."""

    waits_for_caller: bool = False
    error: BaseException | None = None
    segments: list[IdSegment] = attrs.field(factory=list)
    _memory: InMemorySegmentAllocator = attrs.field(
        factory=lambda: InMemorySegmentAllocator({"test": 1, "other": 500})
    )

    def allocate(self, sequence: str, *, size: int) -> IdSegment:
        if self.error is not None:
            raise self.error
        segment = self._memory.allocate(sequence, size=size)
        self.segments.append(segment)
        return segment

    def would_wait_for_caller(self) -> bool:
        return self.waits_for_caller


@attrs.define
class LaterThreads:
    """Keeps the work of threads until it is run."""

    works: list[Callable[[], None]] = attrs.field(factory=list)

    def start(self, name: str, work: Callable[[], None]) -> threading.Thread:
        self.works.append(work)
        return threading.current_thread()

    def run(self) -> None:
        works, self.works = self.works, []
        for work in works:
            work()


def at_once(name: str, work: Callable[[], None]) -> threading.Thread:
    work()
    return threading.current_thread()


def no_thread(name: str, work: Callable[[], None]) -> threading.Thread:
    raise RuntimeError("can't start new thread")


AWAY = IdAllocationError("test", "the database is away")
