"""An optional base for application services: a method for each command, one line each.

    class OrderService(ApplicationService):
        def pay(self, command: PayOrder) -> None:
            self._change(Order, command.order_id, lambda order: order.pay(command.reference))

It saves naming the unit of work in each method, and nothing more; a service without it is as good.
"""

from collections.abc import Callable
from typing import TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.rules import IRuleValidator
from pragmatic_ddd.ports.commands import ICommandExecutor
from pragmatic_ddd.ports.dry_run import DryRunResult

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.frozen
class ApplicationService:
    """Carries out commands on aggregates that it makes, or finds by id.

    Attributes:
        commands: Executes them.

    Raises:
        TypeError: It is no executor.
    """

    commands: ICommandExecutor = attrs.field(validator=implements(ICommandExecutor))

    def _create(
        self, make: Callable[[], AggregateT], *, rule: IRuleValidator[AggregateT] | None = None
    ) -> AggregateT:
        """Store a new aggregate."""
        return self.commands.execute(lambda _: make(), rule=rule)

    def _change(
        self,
        aggregate_type: type[AggregateT],
        aggregate_id: object,
        logic: Callable[[AggregateT], object],
        *,
        rule: IRuleValidator[AggregateT] | None = None,
    ) -> AggregateT:
        """Change the aggregate with that id."""
        return self.commands.execute(
            lambda work: work.get(aggregate_type, aggregate_id), logic, rule=rule
        )

    def _try_create(
        self, make: Callable[[], AggregateT], *, rule: IRuleValidator[AggregateT] | None = None
    ) -> DryRunResult:
        """Say what would be against storing a new aggregate."""
        return self.commands.try_execute(lambda _: make(), rule=rule)

    def _try_change(
        self,
        aggregate_type: type[AggregateT],
        aggregate_id: object,
        logic: Callable[[AggregateT], object],
        *,
        rule: IRuleValidator[AggregateT] | None = None,
    ) -> DryRunResult:
        """Say what would be against changing the aggregate with that id."""
        return self.commands.try_execute(
            lambda work: work.get(aggregate_type, aggregate_id), logic, rule=rule
        )
