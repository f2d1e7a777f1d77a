"""What becomes of a message by what the event manager answers: sent, tried again, or dead."""

import logging

import attrs

from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.threads import is_of_the_main_thread
from pragmatic_ddd.errors import EventPublishError, PragmaticError
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, Delivered, FailedTry

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Answers:
    """Notes them. Safe to use from many threads, for different outcomes.

    Attributes:
        health: What is known of the broker.
        backoff: When a failed message is tried again.
        max_attempts: Counted tries after which a message is dead.
        metrics: What is counted.
        path: Who is sending.
    """

    health: BrokerHealth
    backoff: Backoff
    max_attempts: int
    metrics: IEventMetrics
    path: PublishPath

    def bury_spent(self, claimed: ClaimedMessage, outcome: Settlement) -> bool:
        """Note that a message is dead whose lease has run out too often; say whether it is."""
        if claimed.taken_over and claimed.attempts >= self.max_attempts:
            error = f"its lease ran out in {claimed.attempts} attempts: its process died or hung"
            outcome.dead.append(FailedTry(claimed=claimed, error=error, counted=False))
            self.health.give_back_probe()
            return True
        return False

    def note(self, claimed: ClaimedMessage, answer: object, outcome: Settlement) -> bool:
        """Note a receipt, or an error, and return whether the message was confirmed.

        Anything but a receipt is no confirmation.
        """
        if isinstance(answer, Receipt):
            outcome.sent.append(Delivered(claimed=claimed, receipt=answer.text))
            self.health.confirmed()
            return True
        if not isinstance(answer, BaseException):
            message = claimed.message
            reason = f"the event manager returned {answer!r} instead of a receipt"
            answer = EventPublishError(message.message_id, message.event_type, reason)
        if isinstance(answer, PragmaticError):
            counted = self._note_failure(claimed, answer, outcome, final=not answer.retryable)
            self._log_failure(claimed, answer, outcome, counted=counted)
        else:
            _logger.error(
                "message %s: unexpected error", claimed.message.message_id, exc_info=answer
            )
            self._note_failure(claimed, answer, outcome, final=False)
        return False

    def put_off(self, claimed: ClaimedMessage, error: Exception) -> FailedTry:
        """Have the aggregate wait for a backoff: given back untried, it would be due at once."""
        return FailedTry(
            claimed=claimed,
            error=_text_of(error),
            counted=False,
            retry_in=self.backoff.delay(claimed.failures + 1),
        )

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


def is_of_a_person(error: BaseException) -> bool:
    """Say whether it is Ctrl-C, and not code that raises what Ctrl-C would."""
    return isinstance(error, KeyboardInterrupt) and is_of_the_main_thread()


def _text_of(error: BaseException) -> str:
    """Return kind and text of an error, also of one that cannot say what it is."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as another:  # noqa: BLE001  # code of whoever made the error
        return f"{type(error).__name__}, whose text raises {type(another).__name__}"
