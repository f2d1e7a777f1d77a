"""Port: the unit of work, one local transaction over aggregates and their events.

get, add, remove    change the aggregates yourself, then commit
register            hand over what to do and which rules to check, then commit or try_commit

commit:      each logic ──▶ each rule ──▶ save, store events, commit ──▶ announce
try_commit:  each logic ──▶ each rule ──▶ nothing
"""

from abc import abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TypeVar

from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


class IUnitOfWork(Protocol):
    """Loads aggregates, and stores them with their events: all of it, or nothing.

    Used by one thread, once: a second commit, dry or not, is an error. As a context manager it
    rolls back what was not committed. Implementations must pass ``UnitOfWorkContract``.
    """

    @abstractmethod
    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        """Return the aggregate with that id, stored or added; the same instance each time.

        Raises:
            AggregateNotFoundError: There is none of that class; the unit of work can still be used.
            TypeError: It is no class of aggregates, or one that is not mapped.
        """

    @abstractmethod
    def add(self, aggregate: AggregateRoot) -> None:
        """Have an aggregate stored by ``commit``: a new one, or a loaded one that was changed.

        What was loaded is stored anyway where it has raised events, or was registered. A change
        without either is stored for sure only if it is added: an ORM's session finds it by
        itself, and repositories cannot.

        Raises:
            TypeError: It is no aggregate, or its class is not mapped.
        """

    @abstractmethod
    def remove(self, aggregate: AggregateRoot) -> None:
        """Have a loaded aggregate deleted by ``commit``, which stores its events all the same.

        They are stamped with the version after its last one. What is registered for it is run
        and checked before.

        Raises:
            TypeError: It is no aggregate, or its class is not mapped.
            UnitOfWorkError: It is new, so there is nothing to delete.
        """

    @abstractmethod
    def register(
        self,
        aggregate: AggregateT,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
        logic: Callable[[AggregateT], object] | None = None,
    ) -> None:
        """Have ``commit`` run logic on an aggregate, check its rules, and store it.

        Nothing is run now. All logic is run before any rule is checked, in the order of
        registration. What the aggregate has noted as broken rules counts as well.

        Args:
            aggregate: A new one, or one that was loaded in this unit of work.
            rule: Its rules.
            repository: What saves it, where the unit of work has no other way, or shall not use it.
            logic: Changes the aggregate that it is given, and nothing else: in a dry run that may
                be a copy.

        Raises:
            TypeError: It is no aggregate, its class is not mapped, or one of the others is not
                what is asked for.
        """

    @abstractmethod
    def try_commit(self) -> DryRunResult:
        """Run the logic and the rules of what is registered, and end without storing anything.

        Nothing is saved or sent. Every registered aggregate is as before: logic has worked on a
        copy, or was undone. Where an ORM undoes it, a loaded one reverts to what is stored, as by
        ``rollback``, but for attributes that are not mapped, which keep what logic has set: read
        it before the unit of work is closed, or load it again.

        Returns:
            The first error that logic has raised for the domain, or all broken rules.

        Raises:
            Exception: Whatever else logic or a rule raises; nothing was stored then, either.
            UnitOfWorkError: It was committed, rolled back or closed before.
        """

    @abstractmethod
    def commit(self) -> None:
        """Run logic, check rules, store aggregates with their events, then announce the events.

        Aggregates and events are stored in one transaction: after it returns every event is in
        the outbox. Nothing that happens to the announcement reaches the caller: what is not
        pushed at once is the relay's. Where there is no outbox, it is logged and lost.

        Raises:
            BrokenRuleAggregateError: Rules are broken, or an aggregate that was loaded, added or
                registered has noted broken ones, which it forgets; nothing was stored. A new
                aggregate keeps what logic has done to it.
            BrokenRuleError: The same, where a check stops at the first; of all that were found
                by then, noted ones among them, it is the first.
            DomainError: Logic has refused; the same holds.
            ConcurrencyError: Somebody else changed one of the aggregates; nothing was stored.
            EventSerializationError: An event holds a value that cannot be written; nothing was
                stored.
            OutboxStoreError: The database refused or could not be reached. Nothing was stored,
                unless the connection was lost during the commit itself: then it is unknown.
            UnitOfWorkError: It was committed, rolled back or closed before.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything. Events of loaded aggregates are dropped, those of new ones kept.

        A new aggregate keeps its state and may be added to another unit of work. The state of a
        loaded one reverts where an ORM has loaded it; elsewhere load it again. Does nothing when
        it has ended already.
        """

    @abstractmethod
    def __enter__(self) -> Self:
        """Return itself."""

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Roll back what was not committed, and give back the connection.

        Without a commit an ORM lets go of what it has loaded, and reading it afterwards may fail.
        """
