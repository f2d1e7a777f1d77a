"""How an inbox that keeps one place for each aggregate tells what an event is to it.

place <= last          it was handled, or passed over
previous <= last       nothing is missing before it: it is the next one
last < previous        a gap
"""

import enum

from pragmatic_ddd.errors import UnplacedEventError
from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.inbox import Arrival


class Verdict(enum.Enum):
    """What an event is to a watermark.

    Attributes:
        NEXT: It is to be handled.
        REPEATED: It, or a later one, was handled.
        GAP: Others are missing before it.
    """

    NEXT = "next"
    REPEATED = "repeated"
    GAP = "gap"


def place_of(arrival: Arrival) -> EventPlace:
    """Return the place by which a watermark goes.

    Raises:
        UnplacedEventError: It has none.
    """
    if arrival.place is None:
        raise UnplacedEventError(arrival.subscriber, arrival.message_id, arrival.unplaced_because)
    return arrival.place


def verdict_on(arrival: Arrival, last: EventPlace | None, *, past_gap: bool) -> Verdict:
    """Say what an event is.

    Only what is known to be missing is a gap: where nobody says which event was before, none is.

    Args:
        arrival: The event.
        last: Place of the last one that was handled; ``None``: none was.
        past_gap: Whether a gap is passed over.

    Raises:
        UnplacedEventError: It has no place.
    """
    place = place_of(arrival)
    if last is not None and place <= last:
        return Verdict.REPEATED
    previous = arrival.previous
    if past_gap or previous is None or previous <= (last or BEFORE_ALL):
        return Verdict.NEXT
    return Verdict.GAP
