"""Sending the claimed messages of one aggregate in order: shared by eager path and relay."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import attrs

from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.errors import EventPublishError, PragmaticError
from pragmatic_ddd.ports.events import IStoredEventPublisher, Receipt
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxMessage,
)

_logger = logging.getLogger(__name__)


def lanes(claimed: Iterable[ClaimedMessage]) -> list[list[ClaimedMessage]]:
    """Group messages by aggregate, keeping their order within each.

    Messages without a version keep no promised order; they are still sent one after another.
    """
    by_aggregate: dict[tuple[str, str], list[ClaimedMessage]] = {}
    for one in claimed:
        by_aggregate.setdefault(one.message.aggregate, []).append(one)
    return list(by_aggregate.values())


@attrs.frozen(kw_only=True)
class LaneDelivery:
    """Sends lanes: after a failure the rest of that aggregate goes back untried.

    Safe to use from many threads, for different aggregates.

    Attributes:
        publisher: Where messages go.
        health: What is known of the broker.
        backoff: When a failed message is tried again.
        max_attempts: Counted tries after which a message is dead.
        metrics: What is counted.
        path: Who is sending.
        monotonic: The clock of the deadlines, in seconds.
    """

    publisher: IStoredEventPublisher
    health: BrokerHealth
    backoff: Backoff
    max_attempts: int
    metrics: IEventMetrics
    path: PublishPath
    monotonic: Callable[[], float] = time.monotonic

    def deliver(self, lane: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]) -> Settlement:
        """Send the messages of one aggregate in order and return what became of each.

        Stops, giving back the rest untried, at the first failure, when ``stopped`` says so, and
        before a send that might end after the lease.
        """
        outcome = Settlement()
        rest = deque(lane)
        while rest and not stopped() and self._is_in_lease(rest[0]):
            if not self._send(rest.popleft(), outcome):
                break
        outcome.untried += rest
        return outcome

    def deliver_all(
        self, claimed: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]
    ) -> Settlement:
        """Send many aggregates, as many side by side as the publisher can take.

        Returns when every message has an outcome. Never raises for one aggregate's sake.
        """
        outcome = Settlement()
        waiting = deque(lanes(claimed))

        def work() -> None:
            while True:
                try:
                    lane = waiting.popleft()
                except IndexError:  # none is left
                    return
                outcome.add(self._deliver_or_give_back(lane, stopped))

        # Plain daemon threads: the end of the interpreter would wait for those of an executor.
        threads = []
        for number in range(1, min(self.publisher.side_by_side, len(waiting))):
            name = f"outbox-{self.path}-send-{number}"
            thread = threading.Thread(target=work, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads to be had: fewer will do
                _logger.warning("outbox %s sends with fewer threads: %s", self.path, error)
                break
            threads.append(thread)
        work()
        for thread in threads:
            thread.join()
        return outcome

    def _deliver_or_give_back(
        self, lane: Sequence[ClaimedMessage], stopped: Callable[[], bool]
    ) -> Settlement:
        try:
            return self.deliver(lane, stopped=stopped)
        except Exception:  # a thread's outermost frame: no lane may be lost with it
            _logger.exception("outbox %s failed: %d messages go back", self.path, len(lane))
            outcome = Settlement()
            outcome.untried += lane
            return outcome

    def _is_in_lease(self, claimed: ClaimedMessage) -> bool:
        longest_call = self.publisher.longest_call.total_seconds()
        return self.monotonic() + longest_call < claimed.deadline

    def _send(self, claimed: ClaimedMessage, outcome: Settlement) -> bool:
        """Send one message, note what became of it, and return whether it was confirmed."""
        if claimed.taken_over and claimed.attempts >= self.max_attempts:
            error = f"its lease ran out in {claimed.attempts} attempts: its process died or hung"
            outcome.dead.append(FailedTry(claimed=claimed, error=error, counted=False))
            self.health.give_back_probe()
            return False
        try:
            receipt = self._publish(claimed.message)
        except PragmaticError as error:
            self._note_failure(claimed, error, outcome, final=not error.retryable)
            return False
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Code of an adapter or a subscriber that breaks the port's contract, sys.exit()
            # included: it must not take the other aggregates, or a thread, down with it.
            _logger.exception("message %s: unexpected error", claimed.message.message_id)
            self._note_failure(claimed, error, outcome, final=False)
            return False
        self.health.confirmed()
        outcome.sent.append(Delivered(claimed=claimed, receipt=receipt.text))
        return True

    def _publish(self, message: OutboxMessage) -> Receipt:
        """Publish, and refuse to take anything but a receipt for a confirmation."""
        receipt: object = self.publisher.publish_stored(message)
        if not isinstance(receipt, Receipt):
            reason = f"the event manager returned {receipt!r} instead of a receipt"
            raise EventPublishError(message.message_id, message.event_type, reason)
        return receipt

    def _note_failure(
        self, claimed: ClaimedMessage, error: BaseException, outcome: Settlement, *, final: bool
    ) -> None:
        message = claimed.message
        counted = final or self.health.failed(message.message_id, error)
        self.metrics.publish_failed(message.event_type, self.path, counted=counted)
        failed = FailedTry(
            claimed=claimed,
            error=f"{type(error).__name__}: {error}",
            counted=counted,
            retry_in=self.backoff.delay(claimed.failures + 1),
        )
        if final or (counted and claimed.attempts + 1 >= self.max_attempts):
            outcome.dead.append(failed)
            return
        outcome.failed.append(failed)
        if counted:
            _logger.warning(
                "message %s (%s) of %s %s failed, attempt %d of %d: %s",
                message.message_id,
                message.event_type,
                message.aggregate_type,
                message.aggregate_id,
                claimed.attempts + 1,
                self.max_attempts,
                error,
            )
