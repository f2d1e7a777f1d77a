"""Aggregates of one type in memory, copied on their way in and out."""

import copy
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import check_class, of_type
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.domain.aggregate import WORK_UNIT_STATE
from pragmatic_ddd.errors import ConcurrencyError
from pragmatic_ddd_local.transactions import InMemoryTransactionOperations

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

    def find_by_id(self, aggregate_id: object) -> AggregateT | None:
        with self.transactions.lock:
            found = self._seen(aggregate_id)
            return None if found is None else _copy(found)

    def save(self, aggregate: AggregateT) -> None:
        self.transactions.execute(lambda: self._save(aggregate))

    def _save(self, aggregate: AggregateT) -> None:
        transaction = self.transactions.current
        assert transaction is not None  # noqa: S101  # execute() has opened one
        with self.transactions.lock:
            self._check_version(aggregate)
            writes = transaction.staged_for(self, lambda: _StagedAggregates(self._stored))
            writes.add(aggregate)

    def _check_version(self, aggregate: AggregateT) -> None:
        key, name = aggregate.id, self.aggregate_type.__name__
        for other in self.transactions.others():
            staged = other.peek(self)
            if isinstance(staged, _StagedAggregates) and key in staged.writes:
                raise ConcurrencyError(f"another transaction is changing {name} {key!r}")
        stored = self._seen(key)
        version = 0 if stored is None else stored.version
        if version != aggregate.version:
            raise ConcurrencyError(
                f"{name} {key!r} is stored in version {version}, not {aggregate.version}"
            )

    def _seen(self, key: object) -> AggregateT | None:
        """What this thread sees: what its transaction has saved, else what is committed."""
        transaction = self.transactions.current
        staged = None if transaction is None else transaction.peek(self)
        if isinstance(staged, _StagedAggregates) and key in staged.writes:
            saved: AggregateT = staged.writes[key]
            return saved
        return self._stored.get(key)


@attrs.define(eq=False)
class _StagedAggregates(Generic[AggregateT]):
    stored: dict[object, AggregateT]
    writes: dict[object, AggregateT] = attrs.field(factory=dict, init=False)
    _versions: list[tuple[AggregateT, int]] = attrs.field(factory=list, init=False)

    def add(self, aggregate: AggregateT) -> None:
        self._versions.append((aggregate, aggregate.version))
        aggregate.version += 1
        self.writes[aggregate.id] = _copy(aggregate)

    def apply(self) -> None:
        self.stored.update(self.writes)

    def undo(self) -> None:
        for aggregate, version in reversed(self._versions):
            aggregate.version = version


def _copy(aggregate: AggregateT) -> AggregateT:
    """Return a copy of its state; what it holds for a unit of work, as its events, is none."""
    copied = object.__new__(type(aggregate))
    state = {name: value for name, value in vars(aggregate).items() if name not in WORK_UNIT_STATE}
    vars(copied).update(copy.deepcopy(state))
    return copied
