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
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage

_LONGEST_WAIT_SECONDS: Final = 3600.0  # then it waits again


@attrs.define(eq=False)
class _Lane:
    """The messages of one aggregate; the first one may be in hand, or rest."""

    messages: deque[ReceivedMessage] = attrs.field(factory=deque)
    is_in_hand: bool = False


@attrs.define(eq=False, kw_only=True)
class Lanes:
    """The messages of one consumer. Safe in many threads.

    Attributes:
        is_alone: Whether a message is to be handled beside no other one.
    """

    is_alone: Callable[[ReceivedMessage], bool]
    _lanes: dict[str, _Lane] = attrs.field(factory=dict, init=False)
    _ready: deque[_Lane] = attrs.field(factory=deque, init=False)
    _resting: list[tuple[float, int, _Lane]] = attrs.field(factory=list, init=False)
    _in_hand: int = attrs.field(default=0, init=False)
    _has_one_alone: bool = attrs.field(default=False, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)
    _numbers: Iterator[int] = attrs.field(factory=itertools.count, init=False, repr=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False, repr=False)

    def put(self, message: ReceivedMessage) -> None:
        """Add a message behind those of its aggregate."""
        with self._changed:
            lane = self._lanes.setdefault(message.lane, _Lane())
            lane.messages.append(message)
            if len(lane.messages) == 1 and not lane.is_in_hand:
                self._ready.append(lane)
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
            self._go_on(message.lane, lane)

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
                self._go_on(message.lane, lane)

    def drop(self) -> None:
        """Forget what is not in hand: its connection is lost, and it will come again.

        What is in hand keeps its lane: when it comes again it waits until this try has ended.
        """
        with self._changed:
            self._ready.clear()
            self._resting.clear()
            for lane in self._lanes.values():
                lane.messages.clear()
            self._lanes = {name: lane for name, lane in self._lanes.items() if lane.is_in_hand}

    def close(self) -> None:
        """Give out no more messages."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def is_idle(self, *, within: float) -> bool:
        """Wait until nothing is in hand, and say whether that is so.

        Args:
            within: How long to wait, in seconds.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._in_hand, timeout=within)

    def _next(self) -> ReceivedMessage | None:
        if not self._ready or self._has_one_alone:
            return None
        lane = self._ready[0]
        message = lane.messages[0]
        if self.is_alone(message):
            if self._in_hand:  # it has its turn when the others are done
                return None
            self._has_one_alone = True
        self._ready.popleft()
        lane.is_in_hand = True
        self._in_hand += 1
        return message

    def _end_rests(self) -> float:
        """Have lanes go on whose rest is over; return for how long no other one's is."""
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            self._ready.append(heapq.heappop(self._resting)[2])
        return self._resting[0][0] - now if self._resting else _LONGEST_WAIT_SECONDS

    def _put_down(self, message: ReceivedMessage) -> _Lane:
        lane = self._lanes[message.lane]
        lane.is_in_hand = False
        self._in_hand -= 1
        self._has_one_alone = False
        return lane

    def _go_on(self, name: str, lane: _Lane) -> None:
        if lane.messages:
            self._ready.append(lane)
        else:
            del self._lanes[name]
        self._changed.notify_all()
