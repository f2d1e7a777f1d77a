"""Aggregates of one type in memory, copied on their way in and out."""

import copy
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import check_class, check_type, of_type
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.domain.work_unit_state import WORK_UNIT_STATE
from pragmatic_ddd.errors import ConcurrencyError, UnitOfWorkError
from pragmatic_ddd_local.transactions import InMemoryTransaction, InMemoryTransactionOperations

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(eq=False)
class InMemoryRepository(Generic[AggregateT]):
    """Keeps the fields of aggregates of one type.

    What is found is a copy, and what is saved is copied: a change is seen by others only once
    it was saved and committed. While one transaction has saved an aggregate, another one that
    saves it fails at once: a database would let it wait, and then fail it if the first commits.

    Attributes:
        aggregate_type: The class of the aggregates.
        transactions: What ``save`` takes part in.
    """

    aggregate_type: type[AggregateT]
    transactions: InMemoryTransactionOperations = attrs.field(
        validator=of_type(InMemoryTransactionOperations)
    )
    _stored: dict[object, AggregateT] = attrs.field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_class("aggregate_type", self.aggregate_type, AggregateRoot)

    def insert(self, aggregate: AggregateT) -> None:
        self._check_type(aggregate)
        if not aggregate.is_new:
            raise UnitOfWorkError(f"{self._named(aggregate)} is stored already: update() it")
        self.transactions.execute(lambda: self._save(aggregate))

    def update(self, aggregate: AggregateT) -> None:
        self._check_loaded(aggregate)
        self.transactions.execute(lambda: self._save(aggregate))

    def save(self, aggregate: AggregateT) -> None:
        self._check_type(aggregate)
        if aggregate.is_new:
            self.insert(aggregate)
        else:
            self.update(aggregate)

    def find_by_id(self, aggregate_id: object) -> AggregateT | None:
        with self.transactions.lock:
            found = self._seen(aggregate_id)
            return None if found is None else _copy(found)

    def remove(self, aggregate: AggregateT) -> None:
        self._check_loaded(aggregate)
        self.transactions.execute(lambda: self._remove(aggregate))

    def exists_by_id(self, aggregate_id: object) -> bool:
        return self.current_version(aggregate_id) is not None

    def current_version(self, aggregate_id: object) -> int | None:
        with self.transactions.lock:
            found = self._seen(aggregate_id)
            return None if found is None else found.version

    def _save(self, aggregate: AggregateT) -> None:
        aggregate.trigger_data_sync_hook()
        with self.transactions.lock:
            self._check_version(aggregate)
            self._writes().save(aggregate)

    def _remove(self, aggregate: AggregateT) -> None:
        with self.transactions.lock:
            self._check_version(aggregate)
            self._writes().remove(aggregate)

    def _writes(self) -> "_StagedAggregates[AggregateT]":
        transaction = self.transactions.current
        assert transaction is not None  # noqa: S101  # execute() has opened one
        return transaction.staged_for(self, lambda: _StagedAggregates(self._stored))

    def _check_loaded(self, aggregate: AggregateT) -> None:
        self._check_type(aggregate)
        if aggregate.is_new:
            raise UnitOfWorkError(f"{self._named(aggregate)} is new: insert() it first")

    def _check_type(self, aggregate: AggregateT) -> None:
        check_type("aggregate", aggregate, self.aggregate_type)

    def _check_version(self, aggregate: AggregateT) -> None:
        key, name = aggregate.id, self._named(aggregate)
        for other in self.transactions.others():
            if key in self._staged_in(other):
                raise ConcurrencyError(f"another transaction is changing {name}")
        stored = self._seen(key)
        version = 0 if stored is None else stored.version
        if version != aggregate.version:
            raise ConcurrencyError(
                f"{name} is stored in version {version}, not {aggregate.version}"
            )

    def _seen(self, key: object) -> AggregateT | None:
        """What this thread sees: what its transaction has written, else what is committed."""
        staged = self._staged_in(self.transactions.current)
        return staged[key] if key in staged else self._stored.get(key)

    def _staged_in(
        self, transaction: InMemoryTransaction | None
    ) -> dict[object, AggregateT | None]:
        staged = None if transaction is None else transaction.peek(self)
        return staged.writes if isinstance(staged, _StagedAggregates) else {}

    def _named(self, aggregate: AggregateT) -> str:
        return f"{self.aggregate_type.__name__} {aggregate.id!r}"


@attrs.define(eq=False)
class _StagedAggregates(Generic[AggregateT]):
    """What one transaction has written, by id; ``None`` where it has removed an aggregate."""

    stored: dict[object, AggregateT]
    writes: dict[object, AggregateT | None] = attrs.field(factory=dict, init=False)
    _versions: list[tuple[AggregateT, int]] = attrs.field(factory=list, init=False)

    def save(self, aggregate: AggregateT) -> None:
        self._versions.append((aggregate, aggregate.version))
        aggregate.version += 1
        self.writes[aggregate.id] = _copy(aggregate)

    def remove(self, aggregate: AggregateT) -> None:
        self.writes[aggregate.id] = None

    def apply(self) -> None:
        for key, aggregate in self.writes.items():
            if aggregate is None:
                self.stored.pop(key, None)
            else:
                self.stored[key] = aggregate

    def undo(self) -> None:
        for aggregate, version in reversed(self._versions):
            aggregate.version = version


def _copy(aggregate: AggregateT) -> AggregateT:
    """Return a copy of its state; what it holds for a unit of work, as its events, is none."""
    copied = object.__new__(type(aggregate))
    state = {name: value for name, value in vars(aggregate).items() if name not in WORK_UNIT_STATE}
    vars(copied).update(copy.deepcopy(state))
    return copied
