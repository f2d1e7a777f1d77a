"""What a worker of the eager publisher hands over when it has sent the messages of a lane."""

import attrs

from pragmatic_ddd.application.outbox.lane import Lane
from pragmatic_ddd.application.outbox.settlement import Settlement


@attrs.frozen(kw_only=True)
class FinishedLane:
    """A lane whose messages have been sent, or not, and wait to be settled.

    Attributes:
        lane: The lane.
        outcome: What became of the messages.
        all_sent: Whether every one of them was confirmed.
    """

    lane: Lane
    outcome: Settlement
    all_sent: bool
