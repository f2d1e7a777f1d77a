"""What becomes of one received record: done with, or to be tried again, and when.

wait ──▶ handle ──▶ done
           │ failed
           ├──▶ again after a pause, up to the last try
           └──▶ dead letter, confirmed ──▶ done
"""

import logging
import time
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.events import (
    Failure,
    Redeliveries,
    report_dead_letter,
    report_failed_try,
)
from pragmatic_ddd_kafka.record import ReceivedRecord

_logger = logging.getLogger(__name__)


def at_once(_: ReceivedRecord) -> float:
    """Have no record wait."""
    return 0.0


@attrs.frozen(kw_only=True)
class Settlement:
    """Settles records. Never raises.

    Attributes:
        handler: Called with each record; whatever it raises means that it failed.
        bury: Called with a record that is given up; whatever it raises keeps the record.
        redeliveries: When a record is tried again, and when it is given up.
        is_final: Whether an error of the handler makes further tries useless.
        seconds_left: How long a record is to wait before its first try.
    """

    handler: Callable[[ReceivedRecord], None]
    bury: Callable[[ReceivedRecord, Failure], None]
    redeliveries: Redeliveries
    is_final: Callable[[BaseException], bool]
    seconds_left: Callable[[ReceivedRecord], float] = at_once

    def settle(self, record: ReceivedRecord, *, is_due: bool = False) -> float | None:
        """Try a record; return ``None`` when it is done with.

        Args:
            record: It.
            is_due: Whether it has waited already: then it is tried in any case.

        Returns:
            Else the reading of the monotonic clock before which it is not to be tried again.
        """
        seconds = 0.0 if is_due else self.seconds_left(record)
        if seconds > 0:
            return time.monotonic() + seconds
        failure = self.redeliveries.given_up(record.identity) or self._tried(record)
        if failure is not None and not self._buried(record, failure):
            return failure.not_before
        self.redeliveries.settled(record.identity)
        return None

    def forget(self, record: ReceivedRecord) -> None:
        """Forget a record that goes to another consumer: there its tries begin anew."""
        self.redeliveries.settled(record.identity)

    def _tried(self, record: ReceivedRecord) -> Failure | None:
        """Call the handler; return how it failed, if it did."""
        try:
            self.handler(record)
        except BaseException as error:  # noqa: BLE001  # also of one that would end the process
            failure = self.redeliveries.failed(
                record.identity, error, is_final=self.is_final(error)
            )
            if not failure.is_final:
                report_failed_try(_logger, f"record {record.where}", failure, self.redeliveries)
            return failure
        return None

    def _buried(self, record: ReceivedRecord, failure: Failure) -> bool:
        """Make a dead letter of a record that is given up; say whether it is done."""
        if not failure.is_final:
            return False
        try:
            self.bury(record, failure)
        except Exception:
            self.redeliveries.postpone(failure)
            _logger.exception(
                "record %s failed for good and could not be made a dead letter; it blocks its "
                "partition, and will be tried again",
                record.where,
            )
            return False
        report_dead_letter(_logger, f"record {record.where}", failure)
        return True
