"""What units of work over repositories have in common: all but the end of a commit."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.change_set import ChangeSet
from pragmatic_ddd.application.registered_work import Registration
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.transactions import ITransactionOperations

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(kw_only=True, eq=False)
class RepositoryUnitOfWork:
    """Gathers what one transaction is to save. How it commits is its subclasses' part.

    Attributes:
        transactions: Where the local transaction comes from; the repositories must join it.
        repositories: By aggregate class; a subclass uses its nearest base's.
    """

    transactions: ITransactionOperations = attrs.field(validator=implements(ITransactionOperations))
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
