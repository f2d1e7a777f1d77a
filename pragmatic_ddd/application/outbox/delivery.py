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

        Stops, giving back the rest untried, at the first failure, when ``stopped`` says so,
        before a send that might end after the lease, and at Ctrl-C, which it notes.
        """
        outcome = Settlement()
        self._deliver(lane, outcome, stopped)
        return outcome

    def deliver_all(
        self, claimed: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]
    ) -> Settlement:
        """Send many aggregates, as many side by side as the publisher can take.

        Returns when every message has an outcome. Never raises for one aggregate's sake. Ctrl-C
        stops every aggregate, and is noted in the outcome; a second one goes on at once.
        """
        outcome = Settlement()
        waiting = deque(lanes(claimed))

        def is_stopped() -> bool:
            return outcome.interrupt is not None or stopped()

        def work() -> None:
            own = Settlement()
            try:
                while True:
                    self._deliver(waiting.popleft(), own, is_stopped)
                    if own.interrupt is not None:
                        outcome.interrupt = own.interrupt
            except IndexError:  # none is left
                return
            finally:
                outcome.add(own)

        # Plain daemon threads: the end of the interpreter would wait for those of an executor.
        threads = []
        for number in range(1, min(self._side_by_side(), len(waiting))):
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
            _join(thread, outcome)
        return outcome

    def _side_by_side(self) -> int:
        """Return how many sends the publisher says that it takes: one, where it cannot say."""
        try:
            said: object = self.publisher.side_by_side
        except Exception:  # what is claimed has to be sent or given back all the same
            _logger.exception("outbox %s sends one by one: side_by_side failed", self.path)
            return 1
        if isinstance(said, int):
            return said
        _logger.error("outbox %s sends one by one: side_by_side is %r", self.path, said)
        return 1

    def _deliver(
        self, lane: Sequence[ClaimedMessage], outcome: Settlement, stopped: Callable[[], bool]
    ) -> None:
        """Add what becomes of one aggregate to an outcome that this thread alone fills."""
        tried = 0
        try:
            for claimed in lane:
                if stopped() or not self._is_in_lease(claimed):
                    break
                is_sent = self._send(claimed, outcome)
                tried += 1
                if not is_sent:
                    break
        except Exception as error:  # what breaks its contract must not undo what was sent
            _logger.exception("outbox %s failed: the rest of the aggregate goes back", self.path)
            tried = outcome.tried(lane)
            if tried < len(lane) and not outcome.has_failed(lane):
                outcome.failed.append(self._put_off(lane[tried], error))
                tried += 1
        except KeyboardInterrupt as interrupt:  # a person's: what was sent is to be marked first
            outcome.interrupt = interrupt
            tried = outcome.tried(lane)
        if tried < len(lane):
            outcome.untried += lane[tried:]

    def _put_off(self, claimed: ClaimedMessage, error: Exception) -> FailedTry:
        """Have the aggregate wait for a backoff: given back untried, it would be due at once."""
        return FailedTry(
            claimed=claimed,
            error=_text_of(error),
            counted=False,
            retry_in=self.backoff.delay(claimed.failures + 1),
        )

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
            counted = self._note_failure(claimed, error, outcome, final=not error.retryable)
            self._log_failure(claimed, error, outcome, counted=counted)
            return False
        except BaseException as error:
            # Code of an adapter or a subscriber that breaks the port's contract, sys.exit()
            # included: it must not take the other aggregates, or a thread, down with it.
            if isinstance(error, KeyboardInterrupt) and _is_main_thread():
                raise  # a person's
            _logger.exception("message %s: unexpected error", claimed.message.message_id)
            self._note_failure(claimed, error, outcome, final=False)
            return False
        outcome.sent.append(Delivered(claimed=claimed, receipt=receipt.text))
        self.health.confirmed()
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
    ) -> bool:
        """Note the failure, and return whether it counts as an attempt."""
        message = claimed.message
        counted = final or self.health.failed(message.message_id, error)
        failed = FailedTry(
            claimed=claimed,
            error=_text_of(error),
            counted=counted,
            retry_in=self.backoff.delay(claimed.failures + 1),
        )
        if final or (counted and claimed.attempts + 1 >= self.max_attempts):
            outcome.dead.append(failed)
        else:
            outcome.failed.append(failed)
        self.metrics.publish_failed(message.event_type, self.path, counted=counted)
        return counted

    def _log_failure(
        self, claimed: ClaimedMessage, error: Exception, outcome: Settlement, *, counted: bool
    ) -> None:
        """Log what nobody else does: a dead letter is logged as such, an outage once."""
        is_dead = outcome.dead and outcome.dead[-1].claimed is claimed
        if is_dead or (self.health.is_away and not counted):
            return
        message = claimed.message
        _logger.warning(
            "message %s (%s) of %s %s failed%s, %d of %d attempts are used up: %s",
            message.message_id,
            message.event_type,
            message.aggregate_type,
            message.aggregate_id,
            "" if counted else " (not counted)",
            claimed.attempts + counted,
            self.max_attempts,
            _text_of(error),
        )


def _text_of(error: BaseException) -> str:
    """Return kind and text of an error, also of one that cannot say what it is."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as another:  # noqa: BLE001  # code of whoever made the error
        return f"{type(error).__name__}, whose text raises {type(another).__name__}"


def _join(thread: threading.Thread, outcome: Settlement) -> None:
    """Wait for a thread that sends, also after Ctrl-C: its send in hand may be confirmed."""
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as interrupt:
            if outcome.interrupt is not None:
                raise  # a person who does not want to wait
            outcome.interrupt = interrupt


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
