"""What becomes of an event before which others of its aggregate are missing.

    Wait             it is refused, so that it is delivered again: nothing is lost or misplaced
    Fetch            the missing ones are brought and handled first
    Alert            somebody is told, and it is handled; the missing ones count as handled
    Accept           it is handled; the missing ones count as handled
    StartAnywhere    the first event that a subscriber ever sees of an aggregate is accepted; after
                     that another policy decides

Where missing events count as handled, they are dropped when they do come.
"""

from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.arguments import can_be_called, implements
from pragmatic_ddd.application.inbox.arrival import fetched_arrival_of
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.inbox import EventGap, GapDecision, IGapPolicy

_WAITS = GapDecision()
_GOES_ON = GapDecision(go_on=True)


@attrs.frozen
class Wait:
    """Refuses the event with an ``EventGapError``; the broker brings it again, later.

    An event that never comes, such as a row that was skipped, makes dead letters of those after
    it: a person sees them, and none was lost.
    """

    def decide(self, gap: EventGap) -> GapDecision:  # noqa: ARG002  # it is the same for all
        """Return that it is neither fetched nor passed over."""
        return _WAITS


@attrs.frozen
class Accept:
    """Handles the event: order and repetition are watched, completeness is not.

    For a subscriber that does not want every event of an aggregate, where the broker keeps the
    order. Where it does not, an event that comes late is dropped.
    """

    def decide(self, gap: EventGap) -> GapDecision:  # noqa: ARG002  # it is the same for all
        """Return that the gap is passed over."""
        return _GOES_ON


@attrs.frozen
class Alert:
    """Tells somebody, and handles the event.

    Attributes:
        tell: Given the gap; an error in it has the event delivered again. It may be told of one
            gap more than once.
    """

    tell: Callable[[EventGap], object] = attrs.field(validator=can_be_called())

    def decide(self, gap: EventGap) -> GapDecision:
        """Tell, and return that the gap is passed over."""
        self.tell(gap)
        return _GOES_ON


@attrs.frozen
class Fetch:
    """Brings the missing events, and has the same handler handle them first, each once.

    If there is still a gap after that, the event is refused as by ``Wait``. Where events of other
    classes are brought, the handler must take them, as a ``functools.singledispatch`` does.

    Attributes:
        bring: Given the gap; returns the events between ``gap.last`` and ``gap.arrival``, in
            whatever order. Those that were handled are not handled again. Where it may not find
            all of them, each must remember its message, as by ``with_origin``: of one that does
            not, nobody knows what was before it, and what is left out before it counts as handled.
    """

    bring: Callable[[EventGap], Sequence[DomainEvent]] = attrs.field(validator=can_be_called())

    def decide(self, gap: EventGap) -> GapDecision:
        """Return what was brought, in order."""
        return GapDecision(missing=sorted(self.bring(gap), key=lambda it: _place_of(it, gap)))


@attrs.frozen
class StartAnywhere:
    """Accepts the first event that a subscriber sees of an aggregate, whatever came before it.

    For a subscriber that begins in the middle of a history. Events that come out of order at that
    very moment are lost to it: the earlier ones count as handled.

    Attributes:
        otherwise: Decides about every other gap.
    """

    otherwise: IGapPolicy = attrs.field(factory=Wait, validator=implements(IGapPolicy))

    def decide(self, gap: EventGap) -> GapDecision:
        """Return that it is passed over where nothing was handled yet; else ask."""
        return _GOES_ON if gap.last is None else self.otherwise.decide(gap)


def _place_of(event: DomainEvent, gap: EventGap) -> EventPlace:
    return fetched_arrival_of(event, gap).place or BEFORE_ALL
