"""Where each lane of the eager publisher stands, and which messages were left behind its back.

put ──▶ ready ──▶ being sent ──▶ ready …        ended, when it has no message left
  └───▶ to be claimed ──▶ claimed ──▶ ready …
"""

from collections import deque
from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.outbox.lane import Lane
from pragmatic_ddd.application.outbox.lane_claims import DueClaim, LaneClaims
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, StoredMessage


@attrs.define(eq=False, kw_only=True)
class Lanes:
    """The lanes, one for each aggregate. Its user, the ``LaneBoard``, holds the lock.

    Attributes:
        on_ready: Called for each lane that may be sent from now on.
        on_waiting: Called for each lane that is to be claimed from now on.
        let_go: Called with how many messages take no room any more.
    """

    on_ready: Callable[[], None]
    on_waiting: Callable[[], None]
    let_go: Callable[[int], None]
    _by_aggregate: dict[tuple[str, str], Lane] = attrs.field(factory=dict, init=False)
    _ready: deque[Lane] = attrs.field(factory=deque, init=False)
    _claims: LaneClaims = attrs.field(factory=LaneClaims, init=False)
    _left_behind: set[tuple[str, str]] = attrs.field(factory=set, init=False)
    _passed: bool = attrs.field(default=False, init=False)

    def put(self, one: StoredMessage, give_up_at: float) -> None:
        """Add a message to the lane of its aggregate."""
        aggregate = one.message.aggregate
        lane = self._by_aggregate.get(aggregate)
        if lane is None:
            lane = self._by_aggregate[aggregate] = Lane.of(one, give_up_at)
            self.place(lane)
            return
        self._let_go_settled(lane, lane.add(one, give_up_at))
        if lane.claim_ticket is not None and lane.is_owned:
            self.place(lane)

    def place(self, lane: Lane) -> None:
        """Put a lane that nobody holds where its next message belongs."""
        lane.claim_ticket = None
        if not lane.waiting:
            self._end(lane)
        elif lane.is_owned:
            self._ready.append(lane)
            self.on_ready()
        else:
            self._claims.put(lane)
            self.on_waiting()

    def take_ready(self) -> Lane | None:
        """Take the lane that may be sent next; ``None``: there is none."""
        return self._ready.popleft() if self._ready else None

    def next_claim_at(self) -> float | None:
        """Return the monotonic second of the next claim; ``None``: there is none to make."""
        return self._claims.next_at()

    def take_due(self, limit: int, *, now: float, even_early: bool) -> list[DueClaim]:
        """Take the lanes whose head is to be claimed; see ``LaneClaims``."""
        return self._claims.take_due(limit, now=now, even_early=even_early)

    def claimed(
        self, lane: Lane, claims: Sequence[ClaimedMessage], taken: frozenset[int], now: float
    ) -> None:
        """Let a lane go on with what was claimed for it; see ``LaneBoard.claimed``."""
        if dropped := lane.forget(taken):
            self.let_go(dropped)
        if claims:
            self._let_go_settled(lane, lane.accept(claims))
        else:
            lane.postpone(now)
        self.place(lane)

    def drop(self, lane: Lane) -> list[StoredMessage]:
        """Remove what waits in a lane; return it, not yet let go."""
        dropped = list(lane.waiting)
        lane.waiting.clear()
        if not lane.sending:  # otherwise it ends when they are settled: nobody can pass it before
            self._end(lane)
        return dropped

    def drop_everything(self) -> list[StoredMessage]:
        """Remove what waits in any lane; return it, not yet let go."""
        dropped = [one for lane in list(self._by_aggregate.values()) for one in self.drop(lane)]
        self._ready.clear()
        self._claims.clear()
        return dropped

    def leave_behind(self, stored: Sequence[StoredMessage]) -> None:
        """Note messages that are not taken, and stand behind those of a lane."""
        aggregates = (one.message.aggregate for one in stored)
        self._left_behind.update(one for one in aggregates if one in self._by_aggregate)

    def take_passed(self) -> bool:
        """Say whether, since the last call, a lane has ended that had left messages behind."""
        passed, self._passed = self._passed, False
        return passed

    def _end(self, lane: Lane) -> None:
        self._by_aggregate.pop(lane.aggregate, None)
        if lane.aggregate in self._left_behind:
            self._left_behind.remove(lane.aggregate)
            self._passed = True

    def _let_go_settled(self, lane: Lane, count: int) -> None:
        """Free the room of dropped messages; without a version, one may be unsent after all."""
        if count:
            self.let_go(count)
            self._left_behind.add(lane.aggregate)
