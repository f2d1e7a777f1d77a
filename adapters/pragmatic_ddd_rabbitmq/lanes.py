"""Messages in hand: side by side, but those of one aggregate one after the other.

    aggregate 1   a ── b ── c      a is handled; b and c wait for it
    aggregate 2   d                d is handled beside a
    aggregate 3   e ── f           e has failed and rests for a while, and f with it

What fails stays at the head of its lane. It is not given back to the queue, where it would come
behind what was published after it; so nothing of its aggregate overtakes it.
"""

import heapq
import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage

_LONGEST_WAIT_SECONDS: Final = 3600.0  # then it waits again

_Name = tuple[str, str]  # of a lane: its queue, its aggregate


@attrs.define(eq=False)
class _Lane:
    """The messages of one aggregate; the first one may be in hand, or rest."""

    queue: str
    messages: deque[ReceivedMessage] = attrs.field(factory=deque)
    is_in_hand: bool = False


@attrs.define(eq=False, kw_only=True)
class Lanes:
    """The messages of one process, of some queues. Safe in many threads.

    Attributes:
        is_alone: Whether a message is to be handled beside no other one.
    """

    is_alone: Callable[[ReceivedMessage], bool]
    _lanes: dict[_Name, _Lane] = attrs.field(factory=dict, init=False)
    _ready: deque[_Lane] = attrs.field(factory=deque, init=False)
    _resting: list[tuple[float, int, _Lane]] = attrs.field(factory=list, init=False)
    _open: set[str] = attrs.field(factory=set, init=False)
    _paused: dict[str, list[_Lane]] = attrs.field(factory=dict, init=False)
    _in_hand: Counter[str] = attrs.field(factory=Counter, init=False)
    _has_one_alone: bool = attrs.field(default=False, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)
    _numbers: Iterator[int] = attrs.field(factory=itertools.count, init=False, repr=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False, repr=False)

    def open(self, queue: str) -> None:
        """Take messages of a queue from now on."""
        with self._changed:
            self._open.add(queue)

    def put(self, message: ReceivedMessage) -> None:
        """Add a message behind those of its aggregate, if its queue is open."""
        with self._changed:
            if message.queue not in self._open:
                return
            lane = self._lanes.setdefault(_name(message), _Lane(message.queue))
            lane.messages.append(message)
            if len(lane.messages) == 1 and not lane.is_in_hand:
                self._make_ready(lane)
                self._changed.notify()

    def take(self) -> ReceivedMessage | None:
        """Wait for a message that may be handled, and take it in hand; ``None`` at the end."""
        with self._changed:
            while not self._is_closed:
                wait = self._end_rests()
                message = self._next()
                if message is not None:
                    return message
                self._changed.wait(wait)
        return None

    def settled(self, message: ReceivedMessage) -> None:
        """Let go of a message that is done with."""
        with self._changed:
            lane = self._put_down(message)
            if lane.messages and lane.messages[0] is message:
                lane.messages.popleft()
            self._go_on(message, lane)

    def hold(self, message: ReceivedMessage, until: float) -> None:
        """Let a message rest at the head of its lane.

        Args:
            message: It is in hand.
            until: Reading of the monotonic clock before which it is not taken again.
        """
        with self._changed:
            lane = self._put_down(message)
            if lane.messages and lane.messages[0] is message:
                heapq.heappush(self._resting, (until, next(self._numbers), lane))
                self._changed.notify_all()
            else:
                self._go_on(message, lane)

    def pause(self, queue: str) -> None:
        """Give out no more messages of a queue for now."""
        with self._changed:
            self._paused[queue] = [lane for lane in self._ready if lane.queue == queue]
            self._ready = deque(lane for lane in self._ready if lane.queue != queue)
            self._changed.notify_all()

    def resume(self, queue: str) -> None:
        """Go on after a pause."""
        with self._changed:
            self._ready.extend(self._paused.pop(queue, ()))
            self._changed.notify_all()

    def drop(self, queue: str) -> None:
        """Forget what is not in hand of a queue, and take no more: all of it will come again.

        What is in hand keeps its lane: when it comes again it waits until this try has ended.
        """
        with self._changed:
            self._open.discard(queue)
            self._paused.pop(queue, None)
            self._ready = deque(lane for lane in self._ready if lane.queue != queue)
            self._resting = [each for each in self._resting if each[2].queue != queue]
            heapq.heapify(self._resting)
            for name, lane in list(self._lanes.items()):
                if lane.queue == queue:
                    lane.messages.clear()
                    if not lane.is_in_hand:
                        del self._lanes[name]
            self._changed.notify_all()

    def close(self) -> None:
        """Give out no more messages."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def in_hand(self, queue: str) -> int:
        """Return how many messages of a queue are in hand."""
        with self._changed:
            return self._in_hand[queue]

    def is_idle(self, *, within: float) -> bool:
        """Wait until nothing is in hand, and say whether that is so.

        Args:
            within: How long to wait, in seconds.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._in_hand.total(), timeout=within)

    def _next(self) -> ReceivedMessage | None:
        if not self._ready or self._has_one_alone:
            return None
        lane = self._ready[0]
        message = lane.messages[0]
        if self.is_alone(message):
            if self._in_hand.total():  # it has its turn when the others are done
                return None
            self._has_one_alone = True
        self._ready.popleft()
        lane.is_in_hand = True
        self._in_hand[message.queue] += 1
        return message

    def _end_rests(self) -> float:
        """Have lanes go on whose rest is over; return for how long no other one's is."""
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            self._make_ready(heapq.heappop(self._resting)[2])
        return self._resting[0][0] - now if self._resting else _LONGEST_WAIT_SECONDS

    def _put_down(self, message: ReceivedMessage) -> _Lane:
        lane = self._lanes[_name(message)]
        lane.is_in_hand = False
        self._in_hand[message.queue] -= 1
        self._has_one_alone = False
        return lane

    def _go_on(self, message: ReceivedMessage, lane: _Lane) -> None:
        if lane.messages:
            self._make_ready(lane)
        else:
            del self._lanes[_name(message)]
        self._changed.notify_all()

    def _make_ready(self, lane: _Lane) -> None:
        self._paused.get(lane.queue, self._ready).append(lane)


def _name(message: ReceivedMessage) -> _Name:
    return message.queue, message.lane
