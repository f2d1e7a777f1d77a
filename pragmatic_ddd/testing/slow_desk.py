"""A subscriber of contracts that takes as long as the test wants."""

import threading

import attrs

from pragmatic_ddd.testing.event_manager_binding import ParcelSent
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls

_LONGEST_SECONDS = 120.0  # by then a test has failed that did not let it go


@attrs.define(eq=False)
class SlowDesk:
    """Has an event in hand until the test lets it go. Give its ``handle`` to a registry.

    Attributes:
        begun: Every call.
        done: Every call that has ended.
        go_on: Set it to let go of what is in hand, and of all that comes.
    """

    begun: SubscriberCalls = attrs.field(factory=SubscriberCalls, init=False)
    done: SubscriberCalls = attrs.field(factory=SubscriberCalls, init=False)
    go_on: threading.Event = attrs.field(factory=threading.Event, init=False)

    def handle(self, event: ParcelSent) -> None:
        """Take an event in hand."""
        self.begun.add("slow", event)
        self.go_on.wait(_LONGEST_SECONDS)
        self.done.add("slow", event)
