"""A subscriber for parcels that fails when it is told to, and remembers what it was given."""

import threading
from collections import Counter

import attrs

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.testing.event_manager_binding import ParcelSent
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls


class OutOfShelvesError(Exception):
    """What the desk raises when it is told to fail."""


@attrs.define(eq=False)
class ParcelDesk:
    """Handles parcels. Give its ``handle`` to ``register_subscriber``; safe in many threads.

    Attributes:
        tried: Every call, in order, by the aggregate's id.
        done: Every call that did not fail, in the order in which they ended.
        overlaps: Aggregates two of whose events were in hand at the same time.
    """

    tried: SubscriberCalls = attrs.field(factory=SubscriberCalls, init=False)
    done: SubscriberCalls = attrs.field(factory=SubscriberCalls, init=False)
    overlaps: set[str] = attrs.field(factory=set, init=False)
    _to_fail: Counter[tuple[str, int]] = attrs.field(factory=Counter, init=False)
    _in_hand: Counter[str] = attrs.field(factory=Counter, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def fail(self, event: ParcelSent, *, times: int) -> None:
        """Have the next calls with an event fail."""
        with self._lock:
            self._to_fail[_key(event)] = times

    def handle(self, event: ParcelSent) -> None:
        """Take one in hand.

        Raises:
            OutOfShelvesError: It was told to fail.
        """
        self._take(event.aggregate_id)
        try:
            self.tried.add(event.aggregate_id, event)
            if self._is_to_fail(event):
                raise OutOfShelvesError(f"no shelf for {event.aggregate_id}-{event.number}")
            self.done.add(event.aggregate_id, event)
        finally:
            with self._lock:
                self._in_hand[event.aggregate_id] -= 1

    def numbers_tried(self, of: str) -> list[int]:
        """Return the numbers of an aggregate's parcels, a number for each call."""
        return _numbers(self.tried.so_far(), of)

    def numbers_done(self, of: str) -> list[int]:
        """Return the numbers of an aggregate's parcels, a number for each success."""
        return _numbers(self.done.so_far(), of)

    def _take(self, aggregate_id: str) -> None:
        with self._lock:
            self._in_hand[aggregate_id] += 1
            if self._in_hand[aggregate_id] > 1:
                self.overlaps.add(aggregate_id)

    def _is_to_fail(self, event: ParcelSent) -> bool:
        with self._lock:
            left = self._to_fail[_key(event)]
            self._to_fail[_key(event)] = max(0, left - 1)
        return left > 0


def first_times(numbers: list[int]) -> list[int]:
    """Return the numbers without those that came before: duplicates are allowed to come late."""
    return list(dict.fromkeys(numbers))


def _key(event: ParcelSent) -> tuple[str, int]:
    return event.aggregate_id, event.number


def _numbers(calls: list[tuple[str, DomainEvent]], of: str) -> list[int]:
    return [event.number for code, event in calls if code == of and isinstance(event, ParcelSent)]
