"""What becomes of a received message: handled, tried again, or a dead letter.

    handler ──succeeded──▶ settled
       │ failed
       ├──▶ not yet: it comes again, and is tried after its pause
       └──▶ given up ──a dead letter, confirmed──▶ settled

Nobody but the broker brings a message again: until it is settled it blocks its queue.
"""

import logging
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.events import (
    Failure,
    Redeliveries,
    report_dead_letter,
    report_failed_try,
)
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Settlement:
    """Brings a message as far as it gets in one try. Safe to use from many threads.

    Attributes:
        handler: Called with each message; whatever it raises means that it failed.
        bury: Called with a message that is given up; whatever it raises keeps the message.
        redeliveries: When a message is tried again, and when it is given up.
        is_final: Whether an error of the handler makes further tries useless.
    """

    handler: Callable[[ReceivedMessage], None]
    bury: Callable[[ReceivedMessage, Failure], None]
    redeliveries: Redeliveries
    is_final: Callable[[BaseException], bool]

    def is_reached(self, message: ReceivedMessage) -> bool:
        """Try a message, unless it is given up; say whether it need not come again."""
        failure = self.redeliveries.given_up(message.message_id) or self._tried(message)
        if failure is not None and not self._buried(message, failure):
            return False
        self.redeliveries.settled(message.message_id)
        return True

    def _tried(self, message: ReceivedMessage) -> Failure | None:
        """Call the handler; return how it failed, if it did."""
        try:
            self.handler(message)
        except BaseException as error:  # noqa: BLE001  # it is reported, and never swallowed
            failure = self.redeliveries.failed(
                message.message_id, error, is_final=self.is_final(error)
            )
            if not failure.is_final:
                report_failed_try(_logger, message.where, failure, self.redeliveries)
            return failure
        return None

    def _buried(self, message: ReceivedMessage, failure: Failure) -> bool:
        """Make a dead letter of a message that is given up; say whether it is done."""
        if not failure.is_final:
            return False
        try:
            self.bury(message, failure)
        except Exception:
            self.redeliveries.postpone(failure)
            _logger.exception(
                "%s failed for good and could not be made a dead letter; it blocks its queue, "
                "and will be tried again",
                message.where,
            )
            return False
        report_dead_letter(_logger, message.where, failure)
        return True
