"""Writing what became of a relay's batches, the last one beside the next claim."""

import logging

import attrs

from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.task import StartTask, Task, start_task
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore

_logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Settling:
    """Writes one batch after the other, in order. For one thread; it holds what is not written.

    A batch whose every message was confirmed holds back nothing: it may be written in a thread
    of its own, while the next batch is claimed and sent. Any other is written at once, so that
    no claim takes what waits behind a message that has failed.

    Attributes:
        store: Where results go.
        metrics: What is counted.
        path: Who has sent.
        start: Has it done in another thread.
        confirmed_token: The claim token of the batch that is being written beside, if any.
        left: What could not be written yet.
    """

    store: IOutboxStore
    metrics: IEventMetrics
    path: PublishPath
    start: StartTask = attrs.field(default=start_task)
    confirmed_token: str | None = attrs.field(default=None, init=False)
    left: Settlement = attrs.field(factory=Settlement, init=False)
    _task: Task | None = attrs.field(default=None, init=False)

    def write(self, outcome: Settlement) -> None:
        """Write it before returning.

        Raises:
            OutboxStoreError: What could not be written is written by the next call.
        """
        self._write_left_before(outcome)
        self._write(outcome)

    def write_beside(self, outcome: Settlement) -> None:
        """Begin to write it, once all others are written.

        Raises:
            OutboxStoreError: As for ``write``, about the others.
        """
        if not (self.store.settles_beside_claims and outcome.is_confirmed):
            self.write(outcome)
            return
        self._write_left_before(outcome)
        token = outcome.sent[0].claimed.claim_token
        task = self._task = Task("outbox-settle", lambda: self._write_quietly(outcome))
        try:
            has_begun = task.begin(self.start)
        except BaseException:  # Ctrl-C
            if task.is_called_off:
                self.left.add(outcome)
            raise
        if has_begun:
            self.confirmed_token = token
        else:
            self._write(outcome)

    def finish(self) -> None:
        """Wait until everything is written; what could not be is tried once more.

        Raises:
            OutboxStoreError: As for ``write``.
        """
        if self._task is not None:
            self._task.join()  # Ctrl-C ends this wait: then the next call waits
            self._task = None
            self.confirmed_token = None
        left, self.left = self.left, Settlement()
        if left:
            self._write(left)

    def _write_left_before(self, outcome: Settlement) -> None:
        try:
            self.finish()
        except BaseException:
            self.left.add(outcome)
            raise

    def _write(self, outcome: Settlement) -> None:
        try:
            self._write_even_if_interrupted(outcome)
        except BaseException:
            self.left.add(outcome)
            raise

    def _write_even_if_interrupted(self, outcome: Settlement) -> None:
        try:
            outcome.write(self.store, self.metrics, self.path)
        except KeyboardInterrupt:  # once more: who pressed Ctrl-C may well end the process now
            outcome.write(self.store, self.metrics, self.path)
            raise

    def _write_quietly(self, outcome: Settlement) -> None:
        try:
            outcome.write(self.store, self.metrics, self.path)
        except BaseException as error:  # the thread's outermost frame
            self.left.add(outcome)
            if not isinstance(error, Exception):
                raise
            _logger.warning("results could not be written, which is tried once more: %s", error)
