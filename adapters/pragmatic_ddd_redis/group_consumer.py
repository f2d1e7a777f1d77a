"""One member of a consumer group: a worker for each stream of its topics, and its membership."""

import datetime as dt
import logging
import time
from collections.abc import Sequence

import attrs

from pragmatic_ddd_redis.membership import GroupMembership
from pragmatic_ddd_redis.stream_worker import StreamWorker

_logger = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class GroupConsumer:
    """Consumes for a group, beside other members of it.

    Attributes:
        membership: Says that it is there, and renews the leases of the workers.
        workers: One for each stream; most of the time only some of them have work.
    """

    membership: GroupMembership
    workers: Sequence[StreamWorker]

    def start(self) -> None:
        """Begin to consume what this member gets its share of."""
        self.membership.start()
        for worker in self.workers:
            worker.start()

    def close(self, *, within: dt.timedelta) -> bool:
        """Take nothing new in hand, wait for the handlers at work, leave the group.

        Args:
            within: How long to wait for the handlers.

        Returns:
            Whether all of them have returned. What the others have in hand comes again, once
            their leases have run out.
        """
        for worker in self.workers:
            worker.stop()
        until = time.monotonic() + within.total_seconds()
        at_work = [each for each in self.workers if not each.has_ended(until - time.monotonic())]
        self.membership.leave()
        for worker in at_work:
            _logger.error(
                "group %s: a handler is still at work on %s; its event will come again",
                worker.group,
                worker.stream,
            )
        return not at_work
