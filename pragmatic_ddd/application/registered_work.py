"""What is registered in a unit of work: for each aggregate its logic and its rules.

run       each logic, then each rule, on the aggregates themselves
try_run   the same on stand-ins, which are thrown away
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import check_port, check_type, shown
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.broken_rules import BrokenRule
from pragmatic_ddd.domain.rules import IRuleValidator, RuleCheckResult
from pragmatic_ddd.domain.work_unit_state import pull_broken_rules
from pragmatic_ddd.errors import BrokenRuleAggregateError, DomainError
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.frozen(kw_only=True)
class Registration(Generic[AggregateT]):
    """An aggregate, what is to be done to it, what must hold then, and what saves it."""

    aggregate: AggregateT
    rule: IRuleValidator[AggregateT] | None
    repository: IRepository[AggregateT] | None
    logic: Callable[[AggregateT], object] | None

    def __attrs_post_init__(self) -> None:
        check_type("aggregate", self.aggregate, AggregateRoot)
        if self.rule is not None:
            check_port("rule", self.rule, IRuleValidator)
        if self.repository is not None:
            check_port("repository", self.repository, IRepository)
        if self.logic is not None and not callable(self.logic):
            raise TypeError(f"logic = {shown(self.logic)}: give a function")

    def change(self) -> None:
        """Run the logic."""
        if self.logic is not None:
            self.logic(self.aggregate)

    def check(self) -> RuleCheckResult:
        """Return what the aggregate has noted, which it forgets, and what its rules find."""
        noted = pull_broken_rules(self.aggregate)
        found = RuleCheckResult() if self.rule is None else self.rule.check(self.aggregate)
        return attrs.evolve(found, broken_rules=(*noted, *found.broken_rules))


@attrs.define(eq=False)
class RegisteredWork:
    """The registrations of one unit of work, in order."""

    _registrations: list[Registration[Any]] = attrs.field(factory=list, init=False)

    def to_save(self) -> Iterator[tuple[AggregateRoot, IRepository[Any] | None]]:
        """Yield each aggregate once, with the repository that was given for it last, if any."""
        chosen: dict[int, tuple[AggregateRoot, IRepository[Any] | None]] = {}
        for one in self._registrations:
            key = id(one.aggregate)
            if key not in chosen or one.repository is not None:
                chosen[key] = one.aggregate, one.repository
        yield from chosen.values()

    def __bool__(self) -> bool:
        return bool(self._registrations)

    def register(self, registration: Registration[AggregateT]) -> None:
        """Append a registration; an aggregate may have several."""
        self._registrations.append(registration)

    def run(self) -> None:
        """Run the logic of all, then check the rules of all.

        Raises:
            DomainError: A logic has refused, or rules are broken.
        """
        _run(self._registrations)

    def try_run(self, stand_in: Callable[[AggregateRoot], AggregateRoot]) -> DryRunResult:
        """Do the same on what ``stand_in`` gives for each aggregate, and report a refusal."""
        tried = [
            attrs.evolve(one, aggregate=stand_in(one.aggregate)) for one in self._registrations
        ]
        try:
            _run(tried)
        except DomainError as refusal:
            return DryRunResult(refusal)
        return DryRunResult()


def _run(registrations: list[Registration[Any]]) -> None:
    try:
        for registration in registrations:
            registration.change()
        broken = _broken_rules(registrations)
    finally:  # who is refused may mend it and come again
        for registration in registrations:
            pull_broken_rules(registration.aggregate)
    if broken:
        raise BrokenRuleAggregateError([one.error() for one in broken])


def _broken_rules(registrations: list[Registration[Any]]) -> list[BrokenRule]:
    """Return all broken rules, in order.

    Raises:
        BrokenRuleError: A check stops at the first; the first of all is told.
    """
    broken: list[BrokenRule] = []
    for registration in registrations:
        result = registration.check()
        broken += result.broken_rules
        if result.fail_fast and result.broken_rules:
            raise broken[0].error()
    return broken
