"""One batch of the relay's, claimed in a thread while another one is being sent."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox.task import StartTask, Task, start_task
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

Claim = Callable[[], list[ClaimedMessage]]


@attrs.define(eq=False)
class ClaimAhead:
    """Claims one batch at a time. For one thread.

    What it takes is of other aggregates than the batch that is being sent: a claim passes over
    whatever stands behind a row that somebody owns. So the two need not know of each other.

    Attributes:
        start: Has it done in another thread.
    """

    start: StartTask = attrs.field(default=start_task)
    _task: Task | None = attrs.field(default=None, init=False)
    _claimed: list[ClaimedMessage] = attrs.field(factory=list, init=False)
    _error: BaseException | None = attrs.field(default=None, init=False)

    def begin(self, claim: Claim) -> bool:
        """Begin a claim, once the one before is taken; return whether there was a thread for it."""
        self._task = Task("outbox-claim-ahead", lambda: self._run(claim))
        return self._task.begin(self.start)

    def take(self) -> list[ClaimedMessage]:
        """Wait for the claim that was begun, and return its messages; none if none was begun.

        Raises:
            OutboxStoreError: The claim has failed.
        """
        if self._task is None:
            return []
        self._task.join()  # Ctrl-C ends this wait: then the next call waits
        self._task = None
        error, self._error = self._error, None
        claimed, self._claimed = self._claimed, []
        if error is not None:
            raise error
        return claimed

    def _run(self, claim: Claim) -> None:
        try:
            self._claimed = claim()
        except BaseException as error:  # noqa: BLE001  # raised where it is taken
            self._error = error
