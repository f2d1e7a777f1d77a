"""What the tests of the outbox path build their stories from."""

import contextlib
import datetime as dt
import itertools
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import attrs
import pytest

from pragmatic_ddd.application.outbox import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.task import Task
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import (
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxMessage,
    OutboxStatus,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd_local import InMemoryOutboxStore

DEADLINE = dt.timedelta(seconds=30)
FAR_AWAY = 1e9

_numbers = itertools.count(1)


def seconds(number: float) -> dt.timedelta:
    return dt.timedelta(seconds=number)


def a_message(
    message_id: str | None = None,
    *,
    of: str = "1",
    version: int | None = 1,
    event_type: str = "shop.order.paid",
) -> OutboxMessage:
    return OutboxMessage(
        message_id=message_id or f"message-{next(_numbers)}",
        aggregate_type="shop.order",
        aggregate_id=of,
        aggregate_version=version,
        event_type=event_type,
        payload=b"{}",
    )


def a_claim(
    row: int = 1,
    message: OutboxMessage | None = None,
    *,
    of: str = "1",
    deadline: float = FAR_AWAY,
    attempts: int = 0,
    failures: int = 0,
    taken_over: bool = False,
) -> ClaimedMessage:
    return ClaimedMessage(
        id=row,
        message=message or a_message(f"m{row}", of=of),
        claim_token="token",
        deadline=deadline,
        attempts=attempts,
        failures=failures,
        taken_over=taken_over,
    )


def owned(row: int, *, of: str = "1") -> StoredMessage:
    claim = a_claim(row, of=of)
    return StoredMessage(id=row, message=claim.message, claim=claim)


def unowned(row: int, *, of: str = "1") -> StoredMessage:
    return StoredMessage(id=row, message=a_message(f"m{row}", of=of), claim=None)


def eventually(condition: Callable[[], object], *, within: dt.timedelta = DEADLINE) -> None:
    """Wait for what another thread is about to do; fail when it does not happen in time."""
    deadline = time.monotonic() + within.total_seconds()
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.001)


class Person:
    """Presses Ctrl-C, for real and until it is noticed, when the main thread waits for a task."""

    def __init__(self) -> None:
        self.waits: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_noticed = threading.Event()

    def presses(self, waits: int = 1) -> None:
        """Press when the main thread waits for the so many-th time."""
        for _ in range(waits):
            self.sees_main_wait()
        main = threading.main_thread().ident
        assert main is not None
        while not self._is_noticed.wait(0.01):  # at the very moment before a wait it is not
            signal.pthread_kill(main, signal.SIGINT)

    def sees_main_wait(self) -> None:
        self.waits.get(timeout=DEADLINE.total_seconds())

    def notices(self, *_: object) -> None:
        """Raise in the main thread, as Python does, but once."""
        if not self._is_noticed.is_set():
            self._is_noticed.set()
            raise KeyboardInterrupt


@contextlib.contextmanager
def a_person() -> Iterator[Person]:
    person, join = Person(), Task.join

    def noting(task: Task) -> None:
        if threading.current_thread() is threading.main_thread():
            person.waits.put(None)
        join(task)

    before = signal.signal(signal.SIGINT, person.notices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "join", noting)
        yield person
    signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ctrl_c_at_wait(number: int = 1) -> Iterator[None]:
    """Have Ctrl-C pressed when the main thread waits for a task for the so many-th time."""
    with a_person() as person:
        thread = threading.Thread(target=person.presses, args=(number,))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            yield
        thread.join()


def push(eager: EagerOutboxPublisher, *messages: OutboxMessage) -> list[StoredMessage]:
    """Do what a unit of work does: reserve, store, commit, announce."""
    reservation = eager.reserve(len(messages))
    stored = eager.store.store(messages, reservation=reservation)
    eager.announce(stored, reservation)
    return stored


def store_owned(store: InMemoryOutboxStore, *messages: OutboxMessage) -> list[StoredMessage]:
    """Store rows that another process is about to push."""
    reservation = Reservation(claim_token="of another process", grace=seconds(30))
    return store.store(messages, reservation=reservation)


def status(store: InMemoryOutboxStore, message_id: str) -> OutboxStatus:
    entry = store.find(message_id)
    assert entry is not None
    return entry.status


@attrs.define(eq=False)
class WatchedStore(InMemoryOutboxStore):
    """An outbox that remembers what was asked of it, and fails when it is told to.

    Attributes:
        calls: Method and number of rows, in order.
        before: Called before each call to the outbox; may raise.
    """

    calls: list[tuple[str, int]] = attrs.field(factory=list, init=False)
    before: Callable[[str], object] = attrs.field(default=lambda _: None, init=False)

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        self._note("claim_pending", batch_size)
        return super().claim_pending(
            batch_size=batch_size, lease=lease, confirmed_token=confirmed_token
        )

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        self._note("claim", len(ids))
        return super().claim(ids, lease=lease)

    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        self._note("unclaimed", len(ids))
        return super().unclaimed(ids)

    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        self._note("mark_sent", len(delivered))
        return super().mark_sent(delivered)

    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        self._note("release", len(claimed))
        return super().release(claimed)

    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        self._note("retry_later", len(failed))
        return super().retry_later(failed)

    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        self._note("mark_failed", len(failed))
        return super().mark_failed(failed)

    def _note(self, name: str, rows: int) -> None:
        self.calls.append((name, rows))
        self.before(name)


def failing(*names: str, times: int = 1) -> Callable[[str], None]:
    """Let the next calls of these methods fail; for ``WatchedStore.before``."""
    left = itertools.count(times, -1)

    def before(name: str) -> None:
        if name in names and next(left) > 0:
            raise OutboxStoreError("the connection was lost")

    return before


@attrs.define(eq=False)
class SettlingStore(WatchedStore):
    """One that gains from it, as databases do."""

    @property
    def settles_beside_claims(self) -> bool:
        return True


class Gate:
    """Holds up the first call of a store's method until it is opened; for ``before``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, name: str) -> None:
        if name == self._name and not self.is_reached.is_set():
            self.is_reached.set()
            assert self._open.wait(DEADLINE.total_seconds())

    def open(self) -> None:
        self._open.set()


def sent_by(publisher: ScriptedPublisher) -> list[str]:
    """Return what the broker has confirmed, in order."""
    return [one.message_id for one in publisher.delivered]
