"""What one path of one simulated process has in hand: claimed, and not yet settled."""

from collections.abc import Iterable

import attrs

from pragmatic_ddd.ports import ClaimedMessage, OutboxMessage
from tests.model.history import History
from tests.model.world_clock import WorldClock

_ROUNDING_SECONDS = 0.002  # SQLite's clock has milliseconds


@attrs.define(eq=False)
class Holdings:
    """Claims that were handed out and have not come back.

    Attributes:
        others: Those of the other paths and processes, the dead excepted.
    """

    history: History
    clock: WorldClock
    others: "list[Holdings]"
    _claims: dict[tuple[int, str], ClaimedMessage] = attrs.field(factory=dict, init=False)
    _newest: dict[str, ClaimedMessage] = attrs.field(factory=dict, init=False)

    def take(self, claimed: Iterable[ClaimedMessage]) -> None:
        """Note what was handed out; who was left hanging meanwhile may have lost it already."""
        for one in claimed:
            if self._is_in_lease(one) and any(
                other.still_holds(one.id) for other in self.others if other is not self
            ):
                self.history.breaks(f"{one.message.message_id} is held by two")
            self._claims[one.id, one.claim_token] = one
            self._newest[one.message.message_id] = one

    def let_go(self, claimed: Iterable[ClaimedMessage]) -> None:
        for one in claimed:
            self._claims.pop((one.id, one.claim_token), None)

    def claim_of(self, message: OutboxMessage) -> ClaimedMessage:
        """Return the claim under which a message is being sent."""
        return self._newest[message.message_id]

    def still_holds(self, row_id: int) -> bool:
        """Whether it may believe that a row is its own."""
        return any(one.id == row_id and self._is_in_lease(one) for one in self._claims.values())

    def names(self) -> list[str]:
        return sorted(one.message.message_id for one in self._claims.values())

    def _is_in_lease(self, claimed: ClaimedMessage) -> bool:
        return claimed.deadline > self.clock.monotonic() + _ROUNDING_SECONDS
