"""A relay's next batches, claimed while the present one is sent; how many, it learns.

full batches ──▶ one more at a time      one that is not full ──▶ one less
an empty outbox ──▶ as many as there may be

Two claims at once keep a database busy that would otherwise wait for this process in between.
They are as strange to each other as those of two relays. But where the backlog is of few
aggregates, what is in hand leaves nothing for them: then they come back with little or nothing,
and cost more than they save.
"""

import logging
from collections import deque

import attrs

from pragmatic_ddd.application.outbox.claim_ahead import Claim, ClaimAhead
from pragmatic_ddd.application.outbox.task import StartTask, start_task
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

_logger = logging.getLogger(__name__)

_MOST = 2  # a third wins nothing more
_FULL_BEFORE_ONE_MORE = 16


@attrs.define(eq=False)
class ClaimsAhead:
    """Claims batches, and hands them out one after the other. For one thread.

    Attributes:
        start: Has them done in other threads.
    """

    start: StartTask = attrs.field(default=start_task)
    _claims: deque[ClaimAhead] = attrs.field(factory=deque, init=False)
    _most: int = attrs.field(default=_MOST, init=False)
    _full_in_a_row: int = attrs.field(default=0, init=False)

    def begin(self, claim: Claim, *, one_only: bool = False) -> None:
        """Begin as many claims as are worth it; those that are under way count."""
        most = min(1, self._most) if one_only else self._most
        while len(self._claims) < most:
            one = ClaimAhead(self.start)
            self._claims.append(one)  # first: what begins is taken, even after Ctrl-C
            if not one.begin(claim):
                self._claims.pop()  # no thread is to be had: the next round claims for itself
                return

    def take(self) -> list[ClaimedMessage]:
        """Wait for the claim that was begun first, and return its messages.

        Where it has brought none, the next one is waited for; none at all if none was begun.

        Raises:
            OutboxStoreError: The claim has failed. The others are still to be taken.
        """
        while self._claims:
            try:
                claimed = self._claims[0].take()  # Ctrl-C: the next call waits for it again
            except Exception:
                self._claims.popleft()
                raise
            self._claims.popleft()
            if claimed:
                return claimed
            self._note_not_full()
        return []

    def take_all(self, into: list[ClaimedMessage]) -> None:
        """Wait for all claims, and add their messages to a list; one that has failed has none.

        Where Ctrl-C ends the wait, those that were taken are in the list, and the others are
        still to be taken.
        """
        while self._claims:
            try:
                into += self.take()
            except Exception as error:  # noqa: BLE001  # the others' are to be given back
                _logger.warning("a claim has failed, of which nothing was needed: %s", error)

    def learn_from(self, claimed: int, size: int) -> None:
        """Note how many messages a claim has brought, of how many it might have."""
        if not claimed:  # whatever comes next is another backlog
            self._most, self._full_in_a_row = _MOST, 0
        elif claimed < size:
            self._note_not_full()
        elif self._most < _MOST:
            self._full_in_a_row += 1
            if self._full_in_a_row == _FULL_BEFORE_ONE_MORE:
                self._most, self._full_in_a_row = self._most + 1, 0

    def _note_not_full(self) -> None:
        self._most, self._full_in_a_row = max(0, self._most - 1), 0
