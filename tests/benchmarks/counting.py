"""A publisher that goes on to a broker, and says when the last message is confirmed."""

import datetime as dt
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import attrs

from pragmatic_ddd.ports import (
    IPipelinedEventPublisher,
    IStoredEventPublisher,
    OutboxMessage,
    Receipt,
)


@attrs.define(eq=False)
class Counting(IStoredEventPublisher):
    """Publishes to the broker, and says when the last message is confirmed.

    Attributes:
        events: The event manager.
        expected: How many messages are to come.
        when_done: Called with the last of them, by the thread that has sent it.
    """

    events: IStoredEventPublisher
    expected: int
    when_done: Callable[[], None] = attrs.field(default=lambda: None)
    _confirmed: Iterator[int] = attrs.field(factory=lambda: itertools.count(1))

    @property
    def longest_call(self) -> dt.timedelta:
        return self.events.longest_call

    @property
    def side_by_side(self) -> int:
        return self.events.side_by_side

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        receipt = self.events.publish_stored(message)
        self.count(1)
        return receipt

    def count(self, confirmed: int) -> None:
        for _ in range(confirmed):
            if next(self._confirmed) == self.expected:
                self.when_done()


@attrs.define(eq=False)
class CountingMany(Counting, IPipelinedEventPublisher):
    """The same over an event manager that has many messages under way at once."""

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        events = cast("IPipelinedEventPublisher", self.events)
        answers = events.publish_many(messages)
        self.count(sum(isinstance(answer, Receipt) for answer in answers))
        return answers


def counting(events: IStoredEventPublisher, expected: int) -> Counting:
    """Return what counts, and pipelines where the event manager does."""
    if callable(getattr(type(events), "publish_many", None)):
        return CountingMany(events, expected)
    return Counting(events, expected)
