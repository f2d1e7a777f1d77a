"""The messages that this process has in hand: a lane for each queue, one message of it at a time.

    arrived ──▶ waiting ──next──▶ current ──settled──▶ gone; the next one of the lane may follow
                   ▲                 │
                   └─────failed──────┘   the whole lane waits until its pause is over

A queue is given out to one process at a time, so that a lane has all that is under way of it. What
is in hand stays nobody else's as long as it is extended; one who is late has lost the lane.
"""

import datetime as dt
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence

import attrs

from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage, Queue


@attrs.define(eq=False)
class Lane:
    """What is in hand of one queue.

    Attributes:
        queue: The queue.
        ours_until: Reading of the monotonic clock at which it may be given to another process.
        waiting: Messages that were not tried, or are to be tried again, in their order.
        current: The one whose handler is at work.
        not_before: Reading of the monotonic clock before which none is tried.
    """

    queue: Queue
    ours_until: float
    waiting: deque[HeldMessage] = attrs.field(factory=deque)
    current: HeldMessage | None = None
    not_before: float = 0.0

    def is_lost(self, now: float) -> bool:
        """Say whether what is in hand may be another process's by now."""
        return now >= self.ours_until

    def is_ready(self, now: float) -> bool:
        """Say whether its next message may be tried."""
        return self.has_next(now) and self.not_before <= now

    def has_next(self, now: float) -> bool:
        """Say whether a message of it is to be tried, now or after its pause."""
        return self.current is None and bool(self.waiting) and not self.is_lost(now)

    def in_hand(self) -> list[HeldMessage]:
        """Return all of it, in order."""
        current = [] if self.current is None else [self.current]
        return [*current, *self.waiting]


@attrs.define(eq=False, kw_only=True)
class Lanes:
    """All lanes of a consumer. Safe to use from many threads.

    Attributes:
        room: How many lanes with something to do are worth having in hand.
    """

    room: int
    _lanes: OrderedDict[Queue, Lane] = attrs.field(factory=OrderedDict, init=False)
    _is_open: bool = attrs.field(default=True, init=False)
    _changed: "threading.Condition" = attrs.field(
        factory=threading.Condition, init=False, repr=False
    )

    def wait_for_room(self, *, within: dt.timedelta) -> bool:
        """Wait until another lane is worth having; say whether one is."""
        with self._changed:
            self._changed.wait_for(self._has_room, within.total_seconds())
            return self._has_room()

    def arrived(self, messages: Sequence[HeldMessage], *, ours_until: float) -> None:
        """Take messages of one or more queues, each queue's in order.

        A queue that was given out again while this process still had it was lost meanwhile: what
        comes now replaces what waits.
        """
        with self._changed:
            fresh: set[Queue] = set()
            for each in messages:
                queue = each.message.queue
                lane = self._lanes.setdefault(queue, Lane(queue, ours_until))
                if queue not in fresh:
                    fresh.add(queue)
                    lane.ours_until = ours_until
                    lane.waiting.clear()
                lane.waiting.append(each)
            self._changed.notify_all()

    def next(self) -> tuple[Lane, HeldMessage] | None:
        """Wait for a message to handle, and return it with its lane; ``None`` after the end."""
        with self._changed:
            while self._is_open:
                now = time.monotonic()
                lane = next((each for each in self._lanes.values() if each.is_ready(now)), None)
                if lane is not None:
                    lane.current = lane.waiting.popleft()
                    self._lanes.move_to_end(lane.queue)
                    return lane, lane.current
                self._changed.wait(self._next_pause_ends_in(now))
            return None

    def settled(self, lane: Lane) -> list[HeldMessage]:
        """Go on behind the current message of a lane; return what is to be acknowledged for it.

        More than one where it has come again meanwhile.
        """
        with self._changed:
            done = [] if lane.current is None else [lane.current]
            lane.current = None
            for message in done[:1]:
                while lane.waiting and _are_the_same(message, lane.waiting[0]):
                    done.append(lane.waiting.popleft())
            self._let_go_of_empty(lane)
            self._changed.notify_all()
            return done

    def failed(self, lane: Lane, *, not_before: float) -> None:
        """Have the current message of a lane tried again, after a pause for all of the lane."""
        with self._changed:
            current, lane.current = lane.current, None
            lane.not_before = not_before
            is_lost = lane.is_lost(time.monotonic())
            if current is not None and not is_lost and not _came_again(current, lane):
                lane.waiting.appendleft(current)
            self._let_go_of_empty(lane)
            self._changed.notify_all()

    def to_extend(self, *, within: dt.timedelta) -> list[Lane]:
        """Return the lanes that would be lost soon, and let go of those that are.

        What waits in a lost lane comes again, here or elsewhere.
        """
        now = time.monotonic()
        with self._changed:
            for lane in list(self._lanes.values()):
                if lane.is_lost(now):
                    lane.waiting.clear()
                    self._let_go_of_empty(lane)
            soon = now + within.total_seconds()
            return [lane for lane in self._lanes.values() if now < lane.ours_until <= soon]

    def in_hand(self, lane: Lane) -> list[HeldMessage]:
        """Return all messages of a lane, in order."""
        with self._changed:
            return lane.in_hand()

    def extended(self, lane: Lane, *, ours_until: float) -> None:
        """Note that all of a lane is this process's for longer."""
        with self._changed:
            lane.ours_until = max(lane.ours_until, ours_until)

    def close(self) -> list[HeldMessage]:
        """Begin no message any more; return those that were not tried, or wait for another try."""
        with self._changed:
            self._is_open = False
            left = [message for lane in self._lanes.values() for message in lane.waiting]
            for lane in list(self._lanes.values()):
                lane.waiting.clear()
                self._let_go_of_empty(lane)
            self._changed.notify_all()
            return left

    def wait_until_idle(self, *, within: dt.timedelta) -> bool:
        """Wait until no handler is at work; say whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._at_work(), within.total_seconds())

    def _at_work(self) -> int:
        return sum(lane.current is not None for lane in self._lanes.values())

    def _has_room(self) -> bool:
        now = time.monotonic()
        busy = sum(lane.current is not None or lane.is_ready(now) for lane in self._lanes.values())
        return busy < self.room

    def _next_pause_ends_in(self, now: float) -> float | None:
        pauses = [lane.not_before - now for lane in self._lanes.values() if lane.has_next(now)]
        return max(0.0, min(pauses)) if pauses else None

    def _let_go_of_empty(self, lane: Lane) -> None:
        is_empty = lane.current is None and not lane.waiting
        if is_empty and self._lanes.get(lane.queue) is lane:
            del self._lanes[lane.queue]


def _are_the_same(one: HeldMessage, other: HeldMessage) -> bool:
    return one.message.queue_offset == other.message.queue_offset


def _came_again(message: HeldMessage, lane: Lane) -> bool:
    return bool(lane.waiting) and _are_the_same(message, lane.waiting[0])
