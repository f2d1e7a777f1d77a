"""What a unit of work over repositories has loaded, was given, and has to save."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import attrs

from pragmatic_ddd.application.arguments import check_class, check_type, of_type, shown
from pragmatic_ddd.application.registered_work import RegisteredWork, Registration
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.triggered_events import EventsMark
from pragmatic_ddd.domain.work_unit_state import forget_operations, pull_broken_rules
from pragmatic_ddd.errors import AggregateNotFoundError, BrokenRuleAggregateError, UnitOfWorkError
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.repositories import IRepository

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(eq=False)
class ChangeSet:
    """Aggregates of one unit of work, and how each is saved.

    Attributes:
        repositories: By aggregate class; a subclass uses its nearest base's.

    Raises:
        TypeError: The repositories are no mapping.
    """

    # Of each type its own.
    repositories: Mapping[type[AggregateRoot], IRepository[Any]] = attrs.field(
        validator=of_type(Mapping)
    )
    _loaded: dict[tuple[int, object], AggregateRoot] = attrs.field(factory=dict, init=False)
    _to_save: list[AggregateRoot] = attrs.field(factory=list, init=False)
    _to_remove: list[AggregateRoot] = attrs.field(factory=list, init=False)
    _registered: RegisteredWork = attrs.field(factory=RegisteredWork, init=False)
    _befores: "list[_Before]" = attrs.field(factory=list, init=False)
    _ended: bool = attrs.field(default=False, init=False)

    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        """Return the aggregate with that id; the same instance each time."""
        self.check_open()
        check_class("aggregate_type", aggregate_type, AggregateRoot)
        for added in self._to_save:
            if isinstance(added, aggregate_type) and added.id == aggregate_id:
                return added
        repository = self._repository(aggregate_type)
        key = (id(repository), aggregate_id)  # the same one, by whatever class it is asked for
        found = self._loaded.get(key)
        if found is None:
            found = repository.find_by_id(aggregate_id)
        if not isinstance(found, aggregate_type):
            raise AggregateNotFoundError(aggregate_type.aggregate_name, aggregate_id)
        self._loaded[key] = found
        return found

    def add(self, aggregate: AggregateRoot) -> None:
        """Have an aggregate saved: a new one, or one that was changed silently."""
        self.check_open()
        check_type("aggregate", aggregate, AggregateRoot)
        self._repository(type(aggregate))
        self._have_saved(aggregate)

    def remove(self, aggregate: AggregateRoot) -> None:
        """Have a loaded aggregate removed."""
        self.check_open()
        check_type("aggregate", aggregate, AggregateRoot)
        if aggregate.is_new:
            raise UnitOfWorkError(f"{shown(aggregate.id)} is new: there is nothing to remove")
        self._repository(type(aggregate))
        self._to_remove.append(aggregate)

    def register(self, registration: Registration[AggregateT]) -> None:
        """Have an aggregate changed, checked and saved."""
        self.check_open()
        if registration.repository is None:
            self._repository(type(registration.aggregate))
        self._registered.register(registration)
        self._have_saved(registration.aggregate)

    def check_open(self) -> None:
        """Refuse whatever comes after the end.

        Raises:
            UnitOfWorkError: It has ended.
        """
        if self._ended:
            raise UnitOfWorkError("this unit of work has ended: make a new one for the next change")

    def end(self) -> None:
        """End: whoever goes on is refused.

        Raises:
            UnitOfWorkError: It has ended before.
        """
        self.check_open()
        self._ended = True

    def run(self) -> None:
        """Run what is registered, and note what to go back to should saving fail.

        Raises:
            DomainError: A logic has refused, or rules are broken, noted ones among them.
        """
        self._registered.run()
        self._refuse_broken()
        loaded = [one for one in self._loaded.values() if len(one.triggered_events)]
        changed = _each_once(*self._to_save, *loaded, *self._to_remove)
        self._befores = [_Before(one, one.version, one.triggered_events.mark()) for one in changed]

    def try_run(self) -> DryRunResult:
        """Run what is registered on copies."""
        copies: dict[int, Any] = {}  # one for all: an aggregate that is registered twice is one
        return self._registered.try_run(lambda aggregate: copy.deepcopy(aggregate, copies))

    def save(self) -> Iterator[tuple[AggregateRoot, list[DomainEvent]]]:
        """Save or remove each changed aggregate; yield it with the events of its version."""
        given = {id(one): repository for one, repository in self._registered.to_save()}
        removed = {id(one) for one in self._to_remove}
        for before in self._befores:
            aggregate = before.aggregate
            repository = given.get(id(aggregate))
            if repository is None:
                repository = self._repository(type(aggregate))
            if id(aggregate) in removed:
                repository.remove(aggregate)
                aggregate.version += 1  # a change as any other, whose events come after the last
            else:
                repository.save(aggregate)
            yield aggregate, aggregate.triggered_events.drain()

    def forget(self) -> None:
        """Forget operations and broken rules of what is stored."""
        for before in self._befores:
            forget_operations(before.aggregate)
            pull_broken_rules(before.aggregate)

    def undo(self) -> None:
        """Take saving back: new aggregates keep events and operations, loaded ones drop them."""
        for before in self._befores:
            before.restore()
        self._drop_loaded()

    def roll_back(self) -> None:
        """End without saving, if it has not ended: loaded aggregates drop their events."""
        if not self._ended:
            self._ended = True
            self._drop_loaded()

    def _refuse_broken(self) -> None:
        aggregates = _each_once(*self._loaded.values(), *self._to_save, *self._to_remove)
        noted = [broken for one in aggregates for broken in pull_broken_rules(one)]
        if noted:
            raise BrokenRuleAggregateError([broken.error() for broken in noted])

    def _drop_loaded(self) -> None:
        added = [one for one in self._to_save if not one.is_new]
        for aggregate in (*self._loaded.values(), *added, *self._to_remove):
            aggregate.clear_work_unit_state()

    def _have_saved(self, aggregate: AggregateRoot) -> None:
        if not any(one is aggregate for one in self._to_save):
            self._to_save.append(aggregate)

    def _repository(self, aggregate_type: type[AggregateRoot]) -> IRepository[Any]:
        for base in aggregate_type.__mro__:
            if base in self.repositories:
                return self.repositories[base]
        raise UnitOfWorkError(f"no repository is wired for {aggregate_type.__qualname__}")


def _each_once(*aggregates: AggregateRoot) -> list[AggregateRoot]:
    return list({id(one): one for one in aggregates}.values())


@attrs.frozen
class _Before:
    """What an aggregate was before it was saved, to go back to if that fails."""

    aggregate: AggregateRoot
    version: int
    events: EventsMark

    def restore(self) -> None:
        self.aggregate.version = self.version
        self.aggregate.triggered_events.reset(self.events)
