"""The unit of work without an outbox: what it publishes after its commit may be lost.

For events that may be: a cache to refresh, a page to redraw; and for steps on the way to an outbox.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.change_set import ChangeSet
from pragmatic_ddd.application.registered_work import Registration
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.events import IEventPublisher
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.transactions import ITransactionOperations

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)

_logger = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class UnitOfWork:
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

    transactions: ITransactionOperations = attrs.field(validator=implements(ITransactionOperations))
    publisher: IEventPublisher = attrs.field(validator=implements(IEventPublisher))
    # Of each type its own.
    repositories: Mapping[type[AggregateRoot], IRepository[Any]] = attrs.field(
        validator=of_type(Mapping)
    )
    _changes: ChangeSet = attrs.field(init=False)

    @_changes.default
    def _new_changes(self) -> ChangeSet:
        return ChangeSet(self.repositories)

    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        """Return the aggregate with that id; the same instance each time.

        Raises:
            AggregateNotFoundError: There is none.
            TypeError: It is no class of aggregates.
            UnitOfWorkError: It has ended.
        """
        return self._changes.get(aggregate_type, aggregate_id)

    def add(self, aggregate: AggregateRoot) -> None:
        """Have an aggregate saved by ``commit``: a new one, or one that was changed silently.

        Raises:
            TypeError: It is no aggregate.
            UnitOfWorkError: It has ended, or has no repository for it.
        """
        self._changes.add(aggregate)

    def remove(self, aggregate: AggregateRoot) -> None:
        """Have ``commit`` remove a loaded aggregate from its repository; its events stay.

        Raises:
            TypeError: It is no aggregate.
            UnitOfWorkError: It has ended, or has no repository for it; or it is new.
        """
        self._changes.remove(aggregate)

    def register(
        self,
        aggregate: AggregateT,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
        logic: Callable[[AggregateT], object] | None = None,
    ) -> None:
        """Have ``commit`` run logic on an aggregate, check its rules, and save it.

        Raises:
            TypeError: Something else was given than is asked for.
            UnitOfWorkError: It has ended, or has no repository for it.
        """
        self._changes.register(
            Registration(aggregate=aggregate, rule=rule, repository=repository, logic=logic)
        )

    def try_commit(self) -> DryRunResult:
        """Run logic and rules on copies, and end: aggregates, database and broker are untouched.

        Raises:
            UnitOfWorkError: It has ended.
        """
        self._changes.end()
        return self._changes.try_run()

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

    def rollback(self) -> None:
        """Undo everything: loaded aggregates drop their events, new ones keep them."""
        self._changes.roll_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.rollback()

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
