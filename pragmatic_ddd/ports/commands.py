"""Port: commands, from what somebody wants done to an aggregate that has done it.

command ──factory──▶ a new aggregate   ──┐
command ──updater──▶ a changed one     ──┴──▶ executor: logic ──▶ rules ──▶ stored, announced
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.unit_of_work import IUnitOfWork

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)
AggregateT_co = TypeVar("AggregateT_co", bound=AggregateRoot, covariant=True)
AggregateT_contra = TypeVar("AggregateT_contra", bound=AggregateRoot, contravariant=True)
CommandT_contra = TypeVar("CommandT_contra", contravariant=True)
ValueT_co = TypeVar("ValueT_co", covariant=True)


class EntityFactory(Protocol[CommandT_contra, AggregateT_co]):
    """Makes a new aggregate of a command. A function, or a class method, is one."""

    @abstractmethod
    def __call__(self, command: CommandT_contra, /) -> AggregateT_co:
        """Return a new aggregate.

        Raises:
            DomainError: The model forbids it.
        """


class EntityUpdater(Protocol[AggregateT_contra, CommandT_contra]):
    """Changes an aggregate as a command says. A function, or a method of the aggregate, is one."""

    @abstractmethod
    def __call__(self, aggregate: AggregateT_contra, command: CommandT_contra, /) -> None:
        """Change the aggregate.

        Raises:
            DomainError: The model forbids it.
        """


class IEntityPropertyResolver(Protocol[CommandT_contra, ValueT_co]):
    """Calculates one property of an aggregate from a command; factories and updaters share it.

    A function is one; ``functools.singledispatch`` makes one over several types of commands.
    """

    @abstractmethod
    def __call__(self, command: CommandT_contra, /) -> ValueT_co:
        """Return the value of the property."""


class ICommandExecutor(Protocol):
    """Carries out one command on one aggregate, in a unit of work of its own.

    Safe to call from any thread.
    """

    @abstractmethod
    def execute(
        self,
        aggregate: AggregateT | Callable[[IUnitOfWork], AggregateT],
        logic: Callable[[AggregateT], object] | None = None,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
    ) -> AggregateT:
        """Run the logic, check the rules, store the aggregate and announce its events.

        Args:
            aggregate: A new one; or a function that finds, or makes, it in the unit of work.
            logic: Changes the aggregate that it is given.
            rule: Its rules.
            repository: What saves it; as for ``IUnitOfWork.register``.

        Returns:
            The aggregate as it was stored.

        Raises:
            AggregateNotFoundError: There is none; nothing was stored.
            Exception: As ``IUnitOfWork.commit``.
        """

    @abstractmethod
    def try_execute(
        self,
        aggregate: AggregateT | Callable[[IUnitOfWork], AggregateT],
        logic: Callable[[AggregateT], object] | None = None,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
    ) -> DryRunResult:
        """Say what ``execute`` would refuse; nothing is stored or sent.

        What the function has found is as ``IUnitOfWork.try_commit`` leaves it, and its unit of
        work is closed: load it again instead of reading it.

        Raises:
            AggregateNotFoundError: There is none.
            Exception: As ``IUnitOfWork.try_commit``.
        """
