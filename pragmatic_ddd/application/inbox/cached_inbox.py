"""A cache in front of an inbox: what was handled long ago is dropped without asking the database.

    known ──▶ nothing                           the cache is told after the commit, never before:
    not known, or cannot be asked ──▶ inbox     who dies in between has left a mark in the database
                                  ──▶ note      and none in the cache, and the inbox drops it

The inbox decides; the cache only saves its work. It costs an event that comes once two calls of
the cache, and pays where many come again.
"""

import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.errors import InfrastructureError
from pragmatic_ddd.ports.inbox import Arrival, EventGap, Handling, IInbox, IInboxCache

WorkT = TypeVar("WorkT")

_logger = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class CachedInbox(Generic[WorkT]):
    """Asks a cache before it asks an inbox. No failure of the cache reaches the caller.

    What is taken back after its commit, such as by a database restored from a backup, or by a
    failover that has lost commits, is still in the cache: give that another namespace then.

    Attributes:
        inbox: Remembers what was handled.
        cache: Knows of much of that.
        rest: For how long a cache that has failed is left alone.
    """

    inbox: IInbox[WorkT] = attrs.field(validator=implements(IInbox))
    cache: IInboxCache = attrs.field(validator=implements(IInboxCache))
    rest: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=5), validator=of_type(dt.timedelta)
    )
    _rests_until: float = attrs.field(default=0.0, init=False, repr=False)

    def handle(
        self, arrival: Arrival, handler: Callable[[WorkT], object], *, past_gap: bool = False
    ) -> Handling | EventGap:
        """Handle an event unless cache or inbox knows that it was; see ``IInbox``."""
        if self._is_known(arrival):
            return Handling.REPEATED
        answer = self.inbox.handle(arrival, handler, past_gap=past_gap)
        if not isinstance(answer, EventGap):
            self._note(arrival)
        return answer

    def _is_known(self, arrival: Arrival) -> bool:
        if self._is_resting():
            return False
        try:
            return self.cache.is_known(arrival.subscriber, arrival.message_id)
        except InfrastructureError as error:
            self._leave_alone(error)
            return False

    def _note(self, arrival: Arrival) -> None:
        if self._is_resting():
            return
        try:
            self.cache.note(arrival.subscriber, arrival.message_id)
        except InfrastructureError as error:
            self._leave_alone(error)

    def _is_resting(self) -> bool:
        return time.monotonic() < self._rests_until

    def _leave_alone(self, error: InfrastructureError) -> None:
        self._rests_until = time.monotonic() + self.rest.total_seconds()
        _logger.warning("inbox cache failed, and is left alone for %s: %s", self.rest, error)
