"""Carries out commands: one aggregate each, in a unit of work of its own.

    executor = CommandExecutor(units_of_work)
    executor.execute(Order.place("o1"), rule=ORDER_RULES)
    executor.execute(lambda work: work.get(Order, "o1"), Order.pay, rule=ORDER_RULES)

Whether events wait in an outbox is the business of the units of work that it is given.
"""

from collections.abc import Callable
from typing import TypeVar

import attrs

from pragmatic_ddd.application.arguments import can_be_called
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.errors import DomainError
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.unit_of_work import IUnitOfWork

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.frozen
class CommandExecutor:
    """Begins a unit of work for each command, and ends it.

    Attributes:
        units_of_work: Makes a unit of work.

    Raises:
        TypeError: It is no function.
    """

    units_of_work: Callable[[], IUnitOfWork] = attrs.field(validator=can_be_called())

    def execute(
        self,
        aggregate: AggregateT | Callable[[IUnitOfWork], AggregateT],
        logic: Callable[[AggregateT], object] | None = None,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
    ) -> AggregateT:
        """Run the logic, check the rules, store the aggregate and announce its events.

        Raises:
            Exception: As the unit of work's ``commit``, and whatever finds the aggregate.
        """
        with self.units_of_work() as work:
            found = _found(aggregate, work)
            work.register(found, rule=rule, repository=repository, logic=logic)
            work.commit()
        return found

    def try_execute(
        self,
        aggregate: AggregateT | Callable[[IUnitOfWork], AggregateT],
        logic: Callable[[AggregateT], object] | None = None,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
    ) -> DryRunResult:
        """Say what ``execute`` would refuse; nothing is stored or sent.

        Raises:
            Exception: As the unit of work's ``try_commit``, and what finds the aggregate, but for
                a ``DomainError``, which is an answer.
        """
        with self.units_of_work() as work:
            try:
                found = _found(aggregate, work)
            except DomainError as refusal:
                return DryRunResult(refusal)
            work.register(found, rule=rule, repository=repository, logic=logic)
            return work.try_commit()


def _found(
    aggregate: AggregateT | Callable[[IUnitOfWork], AggregateT], work: IUnitOfWork
) -> AggregateT:
    return aggregate if isinstance(aggregate, AggregateRoot) else aggregate(work)
