"""Lanes of the eager publisher whose next message has no owner: when each is to be claimed."""

import heapq
import itertools
from collections.abc import Sequence

import attrs

from pragmatic_ddd.application.outbox.lane import Lane


@attrs.frozen(kw_only=True)
class DueClaim:
    """A lane whose head has no owner, taken out of the queue of claims.

    Attributes:
        lane: The lane; it is the coordinator's until it is ``claimed`` or given up.
        ids: The rows to claim, read while no other thread could change the lane.
        is_hopeless: Whether its time is over.
        is_kept_waiting: Whether somebody else may have its messages by now.
    """

    lane: Lane
    ids: Sequence[int]
    is_hopeless: bool
    is_kept_waiting: bool


@attrs.define(eq=False)
class LaneClaims:
    """Lanes in the order of their next try. Its user holds the lock."""

    # Monotonic seconds of the try, ticket and lane: a heap. A lane that has gone elsewhere has
    # another ticket by then, or none.
    _queue: list[tuple[float, int, Lane]] = attrs.field(factory=list, init=False)
    _tickets: "itertools.count[int]" = attrs.field(factory=itertools.count, init=False)

    def next_at(self) -> float | None:
        """Return the monotonic second of the next try; ``None``: there is none."""
        return self._queue[0][0] if self._queue else None

    def put(self, lane: Lane) -> None:
        """Queue a lane for its next try."""
        lane.claim_ticket = next(self._tickets)
        heapq.heappush(self._queue, (lane.claim_at, lane.claim_ticket, lane))

    def take_due(self, limit: int, *, now: float, even_early: bool) -> list[DueClaim]:
        """Take the lanes whose try is due, with at most ``limit`` messages.

        Args:
            limit: Most messages.
            now: Monotonic seconds.
            even_early: Take those as well whose time has not yet come.
        """
        due: list[DueClaim] = []
        room = limit
        while self._queue and room > 0:
            if self._queue[0][0] > now and not even_early:
                break
            _, ticket, lane = heapq.heappop(self._queue)
            if ticket == lane.claim_ticket:
                lane.claim_ticket = None
                ids = lane.unowned_ids(room)
                due.append(
                    DueClaim(
                        lane=lane,
                        ids=ids,
                        is_hopeless=now >= lane.give_up_at,
                        is_kept_waiting=lane.is_kept_waiting,
                    )
                )
                room -= len(ids)
        return due

    def clear(self) -> None:
        """Forget all of them."""
        self._queue.clear()
