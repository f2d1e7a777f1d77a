"""How many messages the eager publisher may hold: what is taken, and what is reserved."""

import time
from collections.abc import Callable

import attrs


@attrs.define(eq=False)
class Room:
    """Counts against a bound. Its user holds the lock.

    Attributes:
        capacity: Most messages held and reserved together.
        monotonic: The clock of the reservations, in seconds.
        held: Messages that are queued, being sent or not yet settled.
    """

    capacity: int
    monotonic: Callable[[], float] = time.monotonic
    held: int = attrs.field(default=0, init=False)
    _reserved: dict[str, tuple[int, float]] = attrs.field(factory=dict, init=False)
    _reserved_count: int = attrs.field(default=0, init=False)

    def reserve(self, token: str, count: int, lapse: float) -> bool:
        """Keep room for ``count`` messages until ``lapse``; return whether there was any."""
        if not self.is_left_for(count):
            return False
        self._reserved[token] = (count, lapse)
        self._reserved_count += count
        return True

    def redeem(self, token: str) -> bool:
        """Give up the room kept under that token; return whether there was any."""
        count, _ = self._reserved.pop(token, (0, 0.0))
        self._reserved_count -= count
        return count > 0

    def is_left_for(self, count: int) -> bool:
        """Say whether there is room; reservations that have lapsed keep none."""
        if self._fits(count):
            return True
        now = self.monotonic()
        for token, (_, lapse) in list(self._reserved.items()):
            if lapse < now:  # a transaction that ended without telling
                self.redeem(token)
        return self._fits(count)

    def _fits(self, count: int) -> bool:
        return self.held + self._reserved_count + count <= self.capacity
