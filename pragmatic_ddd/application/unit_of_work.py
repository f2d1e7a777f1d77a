"""The unit of work without an outbox: what it publishes after its commit may be lost.

For events that may be: a cache to refresh, a page to redraw; and for steps on the way to an outbox.
"""

import logging
from collections.abc import Sequence

import attrs

from pragmatic_ddd.application.arguments import implements
from pragmatic_ddd.application.repository_unit_of_work import RepositoryUnitOfWork
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd.ports.events import IEventPublisher

_logger = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class UnitOfWork(RepositoryUnitOfWork):
    """Saves what it has loaded or was given, and publishes the events right after the commit.

    A process that dies in between, or a broker that is down, loses them; that is logged, as far
    as it can be. Use ``OutboxUnitOfWork`` where an event must not be lost.

    Attributes:
        transactions: Where the local transaction comes from; the repositories must join it.
        publisher: Told of the events after the commit, one by one, in their order.
        repositories: By aggregate class; a subclass uses its nearest base's.

    Raises:
        TypeError: Something else was given than is asked for.
    """

    publisher: IEventPublisher = attrs.field(validator=implements(IEventPublisher))

    def commit(self) -> None:
        """Save the aggregates in one transaction, then publish their events.

        After the first event that cannot be published none is tried: they would overtake it.

        Raises:
            ConcurrencyError: Somebody else changed one of the aggregates; nothing was stored.
            DomainError: Logic has refused, or rules are broken; nothing was stored.
            OutboxStoreError: Nothing was stored, unless the connection was lost in the commit.
            UnitOfWorkError: It has ended; or a transaction is open around it, whose commit, after
                which the events could be published, it would not see. Nothing was stored.
        """
        self._changes.check_open()
        if self.transactions.is_active:
            raise UnitOfWorkError(
                "a unit of work that publishes after its commit joins no open transaction"
            )
        self._changes.end()
        try:
            self._changes.run()
            events = self.transactions.execute(self._save)
        except BaseException:
            self._changes.undo()
            raise
        self._changes.forget()
        self._publish(events)

    def _save(self) -> list[DomainEvent]:
        return [
            event.placed_at(aggregate.version, index)
            for aggregate, events in self._changes.save()
            for index, event in enumerate(events)
        ]

    def _publish(self, events: Sequence[DomainEvent]) -> None:
        for position, event in enumerate(events):
            try:
                self.publisher.publish(event)
            except Exception:  # what is committed stands: the caller must not do it again
                _logger.exception(
                    "events are lost, for want of an outbox: %s",
                    ", ".join(lost.event_id for lost in events[position:]),
                )
                return
