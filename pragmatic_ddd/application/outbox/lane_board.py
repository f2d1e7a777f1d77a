"""The shared state of the eager publisher: its lanes, under a lock. No input, no output."""

import queue
import threading
import time
from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.outbox.finished_lane import FinishedLane
from pragmatic_ddd.application.outbox.lane import Lane
from pragmatic_ddd.application.outbox.lane_claims import DueClaim
from pragmatic_ddd.application.outbox.lanes import Lanes
from pragmatic_ddd.application.outbox.room import Room
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, StoredMessage


@attrs.define(eq=False)
class LaneBoard:
    """The lanes, the room that they take, and the hand-over between threads. Thread-safe.

    Attributes:
        capacity: Most messages held and reserved together.
        monotonic: The clock of the claims, in seconds.
    """

    capacity: int
    monotonic: Callable[[], float] = time.monotonic
    _lock: threading.RLock = attrs.field(factory=threading.RLock, init=False)
    # A ticket for each ready lane, and one that goes round among the workers when all is over. A
    # queue in C wakes a thread in half the time of a condition, and one only.
    _for_workers: "queue.SimpleQueue[None]" = attrs.field(factory=queue.SimpleQueue, init=False)
    _for_coordinator: threading.Condition = attrs.field(init=False)
    _for_idleness: threading.Condition = attrs.field(init=False)
    _lanes: Lanes = attrs.field(init=False)
    _finished: list[FinishedLane] = attrs.field(factory=list, init=False)
    _room: Room = attrs.field(
        default=attrs.Factory(lambda self: Room(self.capacity, self.monotonic), takes_self=True),
        init=False,
    )
    _sending: int = attrs.field(default=0, init=False)
    _closing: bool = attrs.field(default=False, init=False)
    _aborted: bool = attrs.field(default=False, init=False)
    _given_up: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._for_coordinator = threading.Condition(self._lock)
        self._for_idleness = threading.Condition(self._lock)
        self._lanes = Lanes(
            on_ready=self._wake_a_worker,
            on_waiting=self._wake_the_coordinator,
            let_go=self.let_go,
        )

    @property
    def is_closing(self) -> bool:
        """Whether nothing new is taken any more."""
        return self._closing

    @property
    def is_aborted(self) -> bool:
        """Whether what is queued is not to be sent any more."""
        return self._aborted

    def reserve(self, token: str, count: int, lapse: float) -> bool:
        """Keep room for ``count`` messages until ``lapse``; return whether there was any."""
        with self._lock:
            return not self._closing and self._room.reserve(token, count, lapse)

    def redeem(self, token: str) -> bool:
        """Give up the room kept under that token; return whether there was any."""
        with self._lock:
            return self._room.redeem(token)

    def put(self, stored: Sequence[StoredMessage], *, token: str | None, give_up_at: float) -> bool:
        """Queue messages; return whether they were taken, which is all or none of them."""
        with self._lock:
            kept = token is not None and self._room.redeem(token)
            if self._closing or not (kept or self._room.is_left_for(len(stored))):
                return False
            self._room.held += len(stored)
            for one in stored:
                self._lanes.put(one, give_up_at)
            return True

    def leave_behind(self, stored: Sequence[StoredMessage]) -> None:
        """Note that these are left to the relay: nobody can take them before their lanes end."""
        with self._lock:
            self._lanes.leave_behind(stored)

    def take_passed(self) -> bool:
        """Say whether, since the last call, a lane has ended that had left messages behind."""
        with self._lock:
            return self._lanes.take_passed()

    def next_run(self) -> tuple[Lane, list[ClaimedMessage]] | None:
        """Wait for a lane whose messages may be sent, and take them; ``None`` when all is over."""
        while True:
            self._for_workers.get()
            with self._lock:
                lane = None if self._aborted else self._lanes.take_ready()
                if lane is not None:
                    self._sending += 1
                    return lane, lane.take_owned()
                if self._is_over():
                    self._for_workers.put(None)
                    return None

    def finish(self, lane: Lane, outcome: Settlement) -> None:
        """Hand over what became of a lane's messages."""
        all_sent = len(outcome.sent) == len(outcome)
        with self._lock:
            self._sending -= 1
            self._finished.append(FinishedLane(lane=lane, outcome=outcome, all_sent=all_sent))
            self._for_coordinator.notify()

    def take_finished(self, *, wait: bool = True) -> list[FinishedLane] | None:
        """Wait for lanes to settle or to claim; ``None`` when all is over.

        An empty list means that there is something to claim or to give up, or nothing at all
        without ``wait``.
        """
        with self._lock:
            if wait:
                self._for_coordinator.wait_for(self._has_work, self._until_next_claim())
            if not self._finished and self._has_ended():
                return None
            finished, self._finished = self._finished, []
            return finished

    def advance(self, done: FinishedLane) -> list[StoredMessage]:
        """Let a settled lane go on; return its messages that are given up, after a failure.

        What is given up takes room until it is ``let_go``.
        """
        with self._lock:
            lane = done.lane
            self.let_go(lane.sending)
            lane.sending = 0
            if not done.all_sent:
                return self._lanes.drop(lane)
            lane.get_on()
            self._lanes.place(lane)
            return []

    def due_claims(self, limit: int) -> list[DueClaim]:
        """Take the lanes whose head is to be claimed now, with at most ``limit`` messages."""
        with self._lock:
            if self._lanes.next_claim_at() is None:
                return []
            return self._lanes.take_due(limit, now=self.monotonic(), even_early=self._closing)

    def claimed(
        self, lane: Lane, claims: Sequence[ClaimedMessage], taken: frozenset[int] = frozenset()
    ) -> None:
        """Let a lane go on with what was claimed for it; with nothing, it tries again later.

        Args:
            lane: One that was due to be claimed.
            claims: What is its own now.
            taken: Rows that somebody else has: their room is needed, and nobody waits for them.
        """
        with self._lock:
            self._lanes.claimed(lane, claims, taken, self.monotonic())

    def give_up(self, lane: Lane) -> list[StoredMessage]:
        """Remove a lane that was due to be claimed; return its messages, not yet let go."""
        with self._lock:
            return self._lanes.drop(lane)

    def give_up_everything(self) -> list[StoredMessage]:
        """Remove every message that is not being sent; return them, not yet let go."""
        with self._lock:
            self._given_up = True
            return self._lanes.drop_everything()

    def let_go(self, count: int) -> None:
        """Free the room of messages that were settled, dropped or given back."""
        with self._lock:
            self._room.held -= count
            if self._room.held:
                return
            self._for_idleness.notify_all()
            if self._closing:
                self._wake_everybody()

    def wait_until_idle(self, timeout_seconds: float) -> bool:
        """Wait until nothing is held; return whether that was reached in time."""
        with self._lock:
            return self._for_idleness.wait_for(lambda: not self._room.held, timeout_seconds)

    def pause(self, seconds: float) -> None:
        """Wait that long, or until it is aborted."""
        with self._lock:
            self._for_coordinator.wait_for(lambda: self._aborted, seconds)

    def close(self, *, abort: bool = False) -> None:
        """Take nothing new; with ``abort``, send nothing of what is queued either."""
        with self._lock:
            self._closing = True
            self._aborted = self._aborted or abort
            self._wake_everybody()

    def _wake_a_worker(self) -> None:
        self._for_workers.put(None)

    def _wake_the_coordinator(self) -> None:
        self._for_coordinator.notify()

    def _wake_everybody(self) -> None:
        self._for_workers.put(None)
        self._for_coordinator.notify_all()
        self._for_idleness.notify_all()

    def _has_work(self) -> bool:
        must_settle = bool(self._finished) or self._must_give_up()
        return must_settle or self._claim_is_due() or self._has_ended()

    def _must_give_up(self) -> bool:
        return self._aborted and not self._given_up

    def _claim_is_due(self) -> bool:
        due_at = self._lanes.next_claim_at()
        return due_at is not None and (self._closing or due_at <= self.monotonic())

    def _until_next_claim(self) -> float | None:
        due_at = self._lanes.next_claim_at()
        return None if due_at is None else max(0.0, due_at - self.monotonic())

    def _is_over(self) -> bool:
        return self._aborted or (self._closing and not self._room.held)

    def _has_ended(self) -> bool:
        return self._is_over() and not self._sending and not self._must_give_up()
