"""What became of a batch of claimed messages, gathered and then written in few statements."""

import logging
import threading
from collections.abc import Sequence

import attrs

from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, Delivered, FailedTry

_logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Settlement:
    """The outcomes of claimed messages, each in exactly one list. Safe to fill from any thread.

    Attributes:
        sent: Confirmed by the broker.
        untried: Not sent; they go back as they were.
        failed: Failed, to be tried again.
        dead: Failed for good.
        lost: Results that were refused, because another one owns the rows by now; known once
            it is written.
        interrupt: Ctrl-C while they were sent: to be raised again once this is written.
    """

    sent: list[Delivered] = attrs.field(factory=list, init=False)
    untried: list[ClaimedMessage] = attrs.field(factory=list, init=False)
    failed: list[FailedTry] = attrs.field(factory=list, init=False)
    dead: list[FailedTry] = attrs.field(factory=list, init=False)
    lost: int = attrs.field(default=0, init=False)
    interrupt: KeyboardInterrupt | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __len__(self) -> int:
        return len(self.sent) + len(self.untried) + len(self.failed) + len(self.dead)

    def tried(self, lane: Sequence[ClaimedMessage]) -> int:
        """Return how many messages of an aggregate were confirmed, or have failed."""
        sent = {one.claimed.id for one in self.sent}
        return sum(one.id in sent for one in lane) + self.has_failed(lane)

    def has_failed(self, lane: Sequence[ClaimedMessage]) -> bool:
        """Tell whether a message of an aggregate has failed; there is one at most."""
        failed = {one.claimed.id for one in (*self.failed, *self.dead)}
        return any(one.id in failed for one in lane)

    def missing(self, claimed: Sequence[ClaimedMessage]) -> list[ClaimedMessage]:
        """Return those of the messages of which it knows nothing."""
        known = {one.claimed.id for one in self.sent}
        known.update(one.claimed.id for one in (*self.failed, *self.dead))
        known.update(one.id for one in self.untried)
        return [one for one in claimed if one.id not in known]

    @property
    def is_confirmed(self) -> bool:
        """Whether it holds messages, all of which the broker has confirmed."""
        return bool(self.sent) and not (self.untried or self.failed or self.dead)

    def add(self, other: "Settlement") -> None:
        """Take over what another one holds."""
        with self._lock:
            self.sent += other.sent
            self.untried += other.untried
            self.failed += other.failed
            self.dead += other.dead
            self.interrupt = self.interrupt or other.interrupt

    def write(self, store: IOutboxStore, metrics: IEventMetrics, path: PublishPath) -> None:
        """Write every outcome: at most four calls of the store, whatever their number.

        Only where some marks were lost, and some not, each is asked for again: which ones were
        recorded decides what is counted. The order matters: what a dead letter is about to
        block has been given back by then.

        Raises:
            OutboxStoreError: What was written is no longer held here; write again to go on, or
                let the leases end.
        """
        if self.sent:
            kept = store.mark_sent(self.sent)
            recorded = self._recorded(kept, store)
            sent, self.sent = self.sent, []
            self._note_lost(kept, sent, metrics, path)
            for delivered in recorded:
                metrics.published(delivered.claimed.message.event_type, path)
        if self.untried:
            kept = store.release(self.untried)
            untried, self.untried = self.untried, []
            self._note_lost(kept, untried, metrics, path)
        if self.failed:
            kept = store.retry_later(self.failed)
            failed, self.failed = self.failed, []
            self._note_lost(kept, failed, metrics, path)
        if self.dead:
            kept = store.mark_failed(self.dead)
            dead, self.dead = self.dead, []
            self._note_lost(kept, dead, metrics, path)
            for one in dead:
                self._bury(one, metrics)

    def _recorded(self, kept: int, store: IOutboxStore) -> list[Delivered]:
        """Return what is SENT by our mark. The store counts only, but repeating changes nothing."""
        if kept in (0, len(self.sent)):
            return self.sent[:kept]
        return [one for one in self.sent if store.mark_sent([one])]

    def _note_lost(
        self,
        kept: int,
        outcomes: list[Delivered] | list[ClaimedMessage] | list[FailedTry],
        metrics: IEventMetrics,
        path: PublishPath,
    ) -> None:
        lost = len(outcomes) - kept
        if lost > 0:
            self.lost += lost
            metrics.lease_lost(path, lost)
            _logger.warning(
                "%d of %d results came after the lease was over and were refused (%s)",
                lost,
                len(outcomes),
                path,
            )

    def _bury(self, failed: FailedTry, metrics: IEventMetrics) -> None:
        message = failed.claimed.message
        metrics.dead_lettered(message.event_type)
        _logger.error(
            "message %s (%s) of %s %s is FAILED after %d attempts and blocks its aggregate: %s",
            message.message_id,
            message.event_type,
            message.aggregate_type,
            message.aggregate_id,
            failed.claimed.attempts + failed.counted,
            failed.error,
        )
