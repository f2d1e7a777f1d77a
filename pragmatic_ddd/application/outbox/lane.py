"""The lane of one aggregate in the eager publisher: its stored messages, in order.

    waiting ──head is owned──▶ ready ──worker──▶ sending ──▶ settling ──more──▶ ready or waiting
       └──────head has no owner: claimed by the coordinator, tried again until it gives up──┘

A lane is in one place at a time, so no two threads ever send for the same aggregate.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Self

import attrs

from pragmatic_ddd.ports.outbox_message import ClaimedMessage, StoredMessage

# Another process mostly settles the predecessor within milliseconds; if not, then now and then.
_CLAIM_PAUSES_SECONDS = (0.005, 0.02, 0.08, 0.3, 1.0)


@attrs.define(eq=False, kw_only=True)
class Lane:
    """Messages of one aggregate that this process has stored and not yet settled.

    Attributes:
        aggregate: Type and id.
        waiting: Stored messages by row; those that are being sent are no longer in it.
        give_up_at: Monotonic seconds from when on what is unowned is left to the relay. It moves
            only when the lane gets on: who waits behind a message that somebody else holds
            does not wait for ever because more is stored behind it.
        claim_at: Monotonic seconds of the next try to claim what is unowned.
        sending: How many of its messages are being sent or settled.
        claim_ticket: Its valid place in the queue of claims, if it waits there.
    """

    aggregate: tuple[str, str]
    give_up_at: float
    waiting: list[StoredMessage] = attrs.field(factory=list)
    claim_at: float = 0.0
    sending: int = 0
    claim_ticket: int | None = None
    _claim_tries: int = 0
    _newest_give_up_at: float = 0.0

    @classmethod
    def of(cls, stored: StoredMessage, give_up_at: float) -> Self:
        """Return the lane of an aggregate that had none."""
        return cls(
            aggregate=stored.message.aggregate,
            give_up_at=give_up_at,
            waiting=[stored],
            newest_give_up_at=give_up_at,
        )

    @property
    def is_owned(self) -> bool:
        """Whether the next message may be sent without being claimed first."""
        return bool(self.waiting) and self.waiting[0].claim is not None

    def add(self, stored: StoredMessage, give_up_at: float) -> int:
        """Queue a message; return how many messages turn out to be settled and were dropped."""
        self._newest_give_up_at = max(self._newest_give_up_at, give_up_at)
        last = self.waiting[-1] if self.waiting else None
        if last is None or (last.id < stored.id and stored.claim is None):
            self.waiting.append(stored)
            return 0
        held = len(self.waiting) + 1
        self._merge([stored])
        return held - len(self.waiting)

    def take_owned(self) -> list[ClaimedMessage]:
        """Remove and return the owned messages at the head."""
        taken = list(_owned_at_head(self.waiting))
        del self.waiting[: len(taken)]
        self.sending = len(taken)
        return taken

    def unowned_ids(self, limit: int) -> list[int]:
        """Return the rows to claim, at most ``limit``: those at the head that have no owner."""
        unowned = takewhile(lambda stored: stored.claim is None, self.waiting)
        return [stored.id for stored in islice(unowned, limit)]

    def accept(self, claimed: Sequence[ClaimedMessage]) -> int:
        """Take over claims; return how many messages turn out to be settled and were dropped."""
        held = len(self.waiting)
        self._merge([StoredMessage(id=one.id, message=one.message, claim=one) for one in claimed])
        self.get_on()
        return held - len(self.waiting)

    @property
    def is_kept_waiting(self) -> bool:
        """Whether claiming has failed so often that somebody else may have its messages."""
        return self._claim_tries > 1

    def forget(self, rows: frozenset[int]) -> int:
        """Drop messages that somebody else has taken; return how many there were."""
        held = len(self.waiting)
        self.waiting = [one for one in self.waiting if one.id not in rows]
        return held - len(self.waiting)

    def get_on(self) -> None:
        """Note that a message was claimed or sent: the next may be claimed at once."""
        self.claim_at = 0.0
        self._claim_tries = 0
        self.give_up_at = max(self.give_up_at, self._newest_give_up_at)

    def postpone(self, now: float) -> None:
        """Set the time of the next try to claim, later each time."""
        last = len(_CLAIM_PAUSES_SECONDS) - 1
        self.claim_at = now + _CLAIM_PAUSES_SECONDS[min(self._claim_tries, last)]
        self._claim_tries += 1

    def _merge(self, arrivals: Sequence[StoredMessage]) -> None:
        """Put messages where their rows belong, and drop what is settled.

        Threads may announce in another order than they committed in. A message gets an owner
        only where every older one was sent or has that owner, too: what stands before an owned
        one without an owner was settled by somebody else.
        """
        by_id = {one.id: one for one in (*self.waiting, *arrivals)}
        newest_owned = max((one.id for one in by_id.values() if one.claim is not None), default=0)
        self.waiting = [
            one for row, one in sorted(by_id.items()) if one.claim is not None or row > newest_owned
        ]


def _owned_at_head(waiting: Iterable[StoredMessage]) -> Iterable[ClaimedMessage]:
    for stored in waiting:
        if stored.claim is None:
            return
        yield stored.claim
