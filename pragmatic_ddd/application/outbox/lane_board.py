"""The shared state of the eager publisher: which lane is where. No input, no output."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.outbox.finished_lane import FinishedLane
from pragmatic_ddd.application.outbox.lane import Lane
from pragmatic_ddd.application.outbox.lane_claims import DueClaim, LaneClaims
from pragmatic_ddd.application.outbox.room import Room
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, StoredMessage


@attrs.define(eq=False)
class LaneBoard:
    """Lanes, the room that they take, and the hand-over between threads. Thread-safe.

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
    _lanes: dict[tuple[str, str], Lane] = attrs.field(factory=dict, init=False)
    _ready: deque[Lane] = attrs.field(factory=deque, init=False)
    _claims: LaneClaims = attrs.field(factory=LaneClaims, init=False)
    _finished: list[FinishedLane] = attrs.field(factory=list, init=False)
    _left_behind: set[tuple[str, str]] = attrs.field(factory=set, init=False)
    _passed: bool = attrs.field(default=False, init=False)
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
                self._put(one, give_up_at)
            return True

    def leave_behind(self, stored: Sequence[StoredMessage]) -> None:
        """Note that these are left to the relay: nobody can take them before their lanes end."""
        with self._lock:
            self._left_behind.update(
                one.message.aggregate for one in stored if one.message.aggregate in self._lanes
            )

    def take_passed(self) -> bool:
        """Say whether, since the last call, a lane has ended that had left messages behind."""
        with self._lock:
            passed, self._passed = self._passed, False
            return passed

    def next_run(self) -> tuple[Lane, list[ClaimedMessage]] | None:
        """Wait for a lane whose messages may be sent, and take them; ``None`` when all is over."""
        while True:
            self._for_workers.get()
            with self._lock:
                if self._ready and not self._aborted:
                    lane = self._ready.popleft()
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
                return self._drop(lane)
            lane.get_on()
            self._place(lane)
            return []

    def due_claims(self, limit: int) -> list[DueClaim]:
        """Take the lanes whose head is to be claimed now, with at most ``limit`` messages."""
        with self._lock:
            if not self._claims.queue:
                return []
            now = self.monotonic()
            return self._claims.take_due(limit, now=now, even_early=self._closing)

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
            if dropped := lane.forget(taken):
                self.let_go(dropped)
            if claims:
                self._let_go_settled(lane, lane.accept(claims))
            else:
                lane.postpone(self.monotonic())
            self._place(lane)

    def give_up(self, lane: Lane) -> list[StoredMessage]:
        """Remove a lane that was due to be claimed; return its messages, not yet let go."""
        with self._lock:
            return self._drop(lane)

    def give_up_everything(self) -> list[StoredMessage]:
        """Remove every message that is not being sent; return them, not yet let go."""
        with self._lock:
            dropped = [one for lane in list(self._lanes.values()) for one in self._drop(lane)]
            self._ready.clear()
            self._claims.queue.clear()
            self._given_up = True
            return dropped

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

    def _put(self, one: StoredMessage, give_up_at: float) -> None:
        aggregate = one.message.aggregate
        lane = self._lanes.get(aggregate)
        if lane is None:
            lane = self._lanes[aggregate] = Lane.of(one, give_up_at)
            self._place(lane)
            return
        self._let_go_settled(lane, lane.add(one, give_up_at))
        if lane.claim_ticket is not None and lane.is_owned:
            self._place(lane)

    def _place(self, lane: Lane) -> None:
        """Put a lane that nobody holds where its next message belongs."""
        lane.claim_ticket = None
        if not lane.waiting:
            self._end(lane)
        elif lane.is_owned:
            self._ready.append(lane)
            self._for_workers.put(None)
        else:
            self._claims.put(lane)
            self._for_coordinator.notify()

    def _drop(self, lane: Lane) -> list[StoredMessage]:
        dropped = list(lane.waiting)
        lane.waiting.clear()
        if not lane.sending:
            self._end(lane)
        return dropped

    def _end(self, lane: Lane) -> None:
        self._lanes.pop(lane.aggregate, None)
        if lane.aggregate in self._left_behind:
            self._left_behind.remove(lane.aggregate)
            self._passed = True

    def _wake_everybody(self) -> None:
        self._for_workers.put(None)
        self._for_coordinator.notify_all()
        self._for_idleness.notify_all()

    def _let_go_settled(self, lane: Lane, count: int) -> None:
        """Free the room of dropped messages; without a version, one may be unsent after all."""
        if count:
            self.let_go(count)
            self._left_behind.add(lane.aggregate)

    def _has_work(self) -> bool:
        must_give_up = self._aborted and not self._given_up
        return bool(self._finished) or must_give_up or self._claim_is_due() or self._has_ended()

    def _claim_is_due(self) -> bool:
        if self._aborted or not self._claims.queue:
            return False
        return self._closing or self._claims.queue[0][0] <= self.monotonic()

    def _until_next_claim(self) -> float | None:
        if self._aborted or not self._claims.queue:
            return None
        return max(0.0, self._claims.queue[0][0] - self.monotonic())

    def _is_over(self) -> bool:
        return self._aborted or (self._closing and not self._room.held)

    def _has_ended(self) -> bool:
        return self._is_over() and not self._sending
