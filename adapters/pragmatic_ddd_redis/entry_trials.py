"""One try of an entry: subscribers are called, and a failure is counted.

    tried ──▶ handled, or of no interest here
          ──▶ failed: a try is counted; the last one is final
          ──▶ trouble with Redis: raised, nothing is counted

In trouble with Redis no event is at fault, so that it must not cost one a try.
"""

import logging

import attrs

from pragmatic_ddd.application.events import (
    EventConsumption,
    Failure,
    ReceivedEvent,
    Redeliveries,
    is_final,
    report_failed_try,
)
from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, RefusedCommandError
from pragmatic_ddd_redis.stream_entry import StreamEntry
from pragmatic_ddd_redis.stream_reader import Abandoned

_logger = logging.getLogger(__name__)

TROUBLES = (NotSentError, NoAnswerError, RefusedCommandError)
"""What is wrong with Redis, and with no entry."""


class AbandonedEntryError(Exception):
    """An entry was in hand each time when a member ended: it may be what ends them."""


@attrs.frozen(kw_only=True)
class EntryTrials:
    """Has entries of one topic handled.

    Attributes:
        topic: The topic.
        group: The consumer group.
        consumption: What entries are to subscribers.
        redeliveries: When an entry is tried again, and when it is given up.
    """

    topic: str
    group: str
    consumption: EventConsumption
    redeliveries: Redeliveries

    def tried(self, entry: StreamEntry, abandoned: Abandoned | None) -> Failure | None:
        """Have an entry handled; return how it failed, if it did.

        Args:
            entry: The entry.
            abandoned: What this member has found in hand of its predecessor.

        Raises:
            Exception: One of ``TROUBLES``: the entry must come again.
        """
        if entry.fields is None:
            _logger.error("%s was deleted before group %s has handled it", entry, self.group)
            return None
        key = key_of(entry)
        deaths = self._deaths(entry, abandoned)
        try:
            self.consumption.handle(
                entry.event_type,
                lambda: self._event(entry, deaths),
                key=key,
                final=bool(deaths) or self.redeliveries.is_last_try(key),
                where=str(entry),
            )
        except TROUBLES:
            raise
        except BaseException as error:  # noqa: BLE001  # a handler cannot end the thread
            failure = self.redeliveries.failed(key, error, is_final=bool(deaths) or is_final(error))
            if not failure.is_final:
                report_failed_try(_logger, entry, failure, self.redeliveries)
            return failure
        return None

    def _event(self, entry: StreamEntry, deaths: int) -> ReceivedEvent:
        if deaths:
            raise AbandonedEntryError(
                f"{deaths} members of {self.group} ended while they had it in hand"
            )
        return entry.event(self.topic)

    def _deaths(self, entry: StreamEntry, abandoned: Abandoned | None) -> int:
        """Return how many members an entry has outlived, where it may be what ends them; else 0.

        One more than there are tries, since a member may have ended before it began.
        """
        if abandoned is None or abandoned.entry_id != entry.id:
            return 0
        deaths = abandoned.deliveries - 1
        return deaths if deaths > self.redeliveries.max_attempts else 0


def key_of(entry: StreamEntry) -> str:
    """Return what an entry's tries are counted by."""
    return f"{entry.stream}/{entry.id.decode()}"
