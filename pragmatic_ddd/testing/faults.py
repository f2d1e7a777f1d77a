"""Fault injection: a publisher of stored messages whose outcomes a test writes in advance.

    publisher = ScriptedPublisher()
    publisher.next(fails("no answer"), confirms)          # the next two messages
    publisher.on("m-7", unavailable(), unavailable())     # two tries of that message
    with publisher.always(unavailable()):                 # an outage
        ...

Whatever is not in the script is confirmed, by the wrapped publisher if there is one.
"""

import datetime as dt
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import attrs

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IStoredEventPublisher, OutboxMessage, Receipt

# Gets the message and what would confirm it; returns a receipt, or raises an error.
Step = Callable[[OutboxMessage, Callable[[], Receipt]], Receipt]
TOPIC = "scripted"


def confirms(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
    """Confirm it."""
    return confirm()


def fails(reason: str = "no answer") -> Step:
    """Fail: it was not delivered, and this message is to blame."""
    return _raising(EventPublishError, reason)


def goes_unconfirmed(reason: str = "no answer") -> Step:
    """Fail without knowing whether the message or the broker is to blame; it was not delivered."""
    return _raising(EventUnconfirmedError, reason)


def unavailable(reason: str = "connection refused") -> Step:
    """Fail: the broker cannot be reached."""
    return _raising(BrokerUnavailableError, reason)


def rejects(reason: str = "too large") -> Step:
    """Fail for good: the message is refused."""
    return _raising(EventRejectedError, reason)


def raises(error: Exception) -> Step:
    """Break the port's contract: raise something else."""

    def step(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
        raise error

    return step


def returns(value: object) -> Step:
    """Break the port's contract: return something else than a receipt, such as a coroutine."""
    return lambda _, __: cast("Receipt", value)


def loses_the_answer(reason: str = "connection reset") -> Step:
    """Deliver it, and fail all the same: a duplicate is on its way."""

    def step(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        confirm()
        raise EventUnconfirmedError(message.message_id, TOPIC, reason)

    return step


def waits_for(gate: threading.Event, timeout: dt.timedelta = dt.timedelta(seconds=30)) -> Step:
    """Hang until a test opens the gate; then confirm."""

    def step(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        if not gate.wait(timeout.total_seconds()):
            raise AssertionError(f"nobody let message {message.message_id} go")
        return confirm()

    return step


def takes(duration: dt.timedelta, pass_time: Callable[[dt.timedelta], object]) -> Step:
    """Take that long, by the test's own clock, and confirm.

    Args:
        duration: How long.
        pass_time: Lets the time go by, such as ``SettableClock.advance``.
    """

    def step(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        pass_time(duration)
        return confirm()

    return step


@attrs.define(eq=False)
class ScriptedPublisher:
    """Publishes as the script says. Safe to use from many threads.

    Attributes:
        inner: Who confirms; where ``None``, a receipt is made up.
        longest_call: What it claims to be the bound of one call.
        side_by_side: How many calls it claims to be worth making at once.
        tried: Every message that it was given, in order.
        delivered: Every message that was confirmed, in order, whatever the caller was told.
    """

    inner: IStoredEventPublisher | None = None
    longest_call: dt.timedelta = attrs.field(default=dt.timedelta(seconds=3), kw_only=True)
    side_by_side: int = attrs.field(default=1, kw_only=True)
    tried: list[OutboxMessage] = attrs.field(factory=list, init=False)
    delivered: list[OutboxMessage] = attrs.field(factory=list, init=False)
    _next: deque[Step] = attrs.field(factory=deque, init=False)
    _by_message: "defaultdict[str, deque[Step]]" = attrs.field(
        factory=lambda: defaultdict(deque), init=False
    )
    _always: Step = attrs.field(default=confirms, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def next(self, *steps: Step) -> None:
        """Script the next messages that have no script of their own."""
        with self._lock:
            self._next.extend(steps)

    def on(self, message_id: str, *steps: Step) -> None:
        """Script the next tries of one message."""
        with self._lock:
            self._by_message[message_id].extend(steps)

    @contextmanager
    def always(self, step: Step) -> Iterator[None]:
        """Do the same with whatever has no script, as long as the block runs."""
        before, self._always = self._always, step
        try:
            yield
        finally:
            self._always = before

    def delivered_ids(self) -> list[str]:
        """Return the ids of the delivered messages, in order."""
        with self._lock:
            return [message.message_id for message in self.delivered]

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        """Do what the script says."""
        with self._lock:
            self.tried.append(message)
            step = self._step_for(message.message_id)
        return step(message, lambda: self._confirm(message))

    def _step_for(self, message_id: str) -> Step:
        for steps in (self._by_message[message_id], self._next):
            if steps:
                return steps.popleft()
        return self._always

    def _confirm(self, message: OutboxMessage) -> Receipt:
        made_up = Receipt(f"{TOPIC}: {message.message_id}")
        receipt = made_up if self.inner is None else self.inner.publish_stored(message)
        with self._lock:
            self.delivered.append(message)
        return receipt


def _raising(kind: type[EventPublishError], reason: str) -> Step:
    def step(message: OutboxMessage, _: Callable[[], Receipt]) -> Receipt:
        raise kind(message.message_id, TOPIC, reason)

    return step
