"""The lane of one aggregate in the eager publisher: its stored messages, in order.

    waiting ──head is owned──▶ ready ──worker──▶ sending ──▶ settling ──more──▶ ready or waiting
       └──────head has no owner: claimed by the coordinator, tried again until it gives up──┘

A lane is in one place at a time, so no two threads ever send for the same aggregate.
"""

from collections import deque
from collections.abc import Sequence

import attrs

from pragmatic_ddd.ports.outbox import ClaimedMessage, StoredMessage

# Another process mostly settles the predecessor within milliseconds; if not, then now and then.
_CLAIM_PAUSES_SECONDS = (0.005, 0.02, 0.08, 0.3, 1.0)


@attrs.define(eq=False, kw_only=True)
class Lane:
    """Messages of one aggregate that this process has stored and not yet settled.

    Attributes:
        aggregate: Type and id.
        waiting: Stored messages by id; those that are being sent are no longer in it.
        give_up_at: Monotonic seconds from when on what is unowned is left to the relay.
        claim_at: Monotonic seconds of the next try to claim what is unowned.
        sending: How many of its messages are being sent or settled.
        claim_ticket: Its valid place in the queue of claims, if it waits there.
    """

    aggregate: tuple[str, str]
    give_up_at: float
    waiting: deque[StoredMessage] = attrs.field(factory=deque)
    claim_at: float = 0.0
    sending: int = 0
    claim_ticket: int | None = None
    _claim_tries: int = 0

    @property
    def is_owned(self) -> bool:
        """Whether the next message may be sent without being claimed first."""
        return bool(self.waiting) and self.waiting[0].claim is not None

    def append(self, stored: StoredMessage) -> int:
        """Queue a message; return how many before it were dropped.

        A message is born owned only where every older one was sent: what waits here without an
        owner was sent by somebody else meanwhile.
        """
        dropped = 0
        if stored.claim is not None:
            kept = [one for one in self.waiting if one.claim is not None]
            dropped = len(self.waiting) - len(kept)
            self.waiting = deque(kept)
        self.waiting.append(stored)
        return dropped

    def take_owned(self) -> list[ClaimedMessage]:
        """Remove and return the owned messages at the head."""
        taken: list[ClaimedMessage] = []
        while self.waiting and (claim := self.waiting[0].claim) is not None:
            taken.append(claim)
            self.waiting.popleft()
        self.sending = len(taken)
        return taken

    def unowned_ids(self) -> list[int]:
        """Return the rows to claim: those at the head that have no owner."""
        ids = []
        for stored in self.waiting:
            if stored.claim is not None:
                break
            ids.append(stored.id)
        return ids

    def accept(self, claimed: Sequence[ClaimedMessage]) -> int:
        """Take over claims of waiting messages; return how many messages were dropped.

        What stands before the first claimed one was settled by somebody else: the claim would
        not have been given otherwise.
        """
        self.claim_at = 0.0
        self._claim_tries = 0
        by_id = {claim.id: claim for claim in claimed}
        dropped = 0
        while self.waiting and self.waiting[0].id not in by_id:
            self.waiting.popleft()
            dropped += 1
        self.waiting = deque(
            attrs.evolve(stored, claim=by_id.get(stored.id, stored.claim))
            for stored in self.waiting
        )
        return dropped

    def postpone(self, now: float) -> None:
        """Set the time of the next try to claim, later each time."""
        last = len(_CLAIM_PAUSES_SECONDS) - 1
        self.claim_at = now + _CLAIM_PAUSES_SECONDS[min(self._claim_tries, last)]
        self._claim_tries += 1
