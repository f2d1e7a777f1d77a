"""A unit of work over repositories: aggregates and their events in one local transaction.

For repositories without an ORM session. With SQLAlchemy's ORM, use the unit of work of its
adapter, or a plain session with the outbox attached.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import attrs
from attrs.validators import optional

from pragmatic_ddd.application.arguments import check_class, check_type, implements, of_type
from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.triggered_events import EventsMark
from pragmatic_ddd.errors import AggregateNotFoundError, UnitOfWorkError
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import OutboxMessage, Reservation, StoredMessage
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.transactions import ITransactionOperations

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(kw_only=True, eq=False)
class OutboxUnitOfWork:
    """Saves what it has loaded or was given, writes the outbox, and announces after the commit.

    Every aggregate that was added is saved, and of the loaded ones those that raised events or
    were handed to ``add``. Used by one thread, once.

    Committed inside a transaction that its thread has open already, it joins that: nothing is
    announced then, because the outer commit may never come, and the events are the relay's.

    Attributes:
        transactions: Where the local transaction comes from; the repositories and the store
            must join it.
        store: The outbox.
        encoding: How events are encoded.
        repositories: By aggregate class; a subclass uses its nearest base's.
        eager: Told of the stored events after the commit; without it they are the relay's.

    Raises:
        TypeError: Something else was given than is asked for.
    """

    transactions: ITransactionOperations = attrs.field(validator=implements(ITransactionOperations))
    store: IOutboxStore = attrs.field(validator=implements(IOutboxStore))
    encoding: EventEncoding = attrs.field(validator=of_type(EventEncoding))
    # Of each type its own.
    repositories: Mapping[type[AggregateRoot], IRepository[Any]] = attrs.field(
        validator=of_type(Mapping)
    )
    eager: EagerOutboxPublisher | None = attrs.field(
        default=None, validator=optional(of_type(EagerOutboxPublisher))
    )
    _loaded: dict[tuple[type[AggregateRoot], object], AggregateRoot] = attrs.field(
        factory=dict, init=False
    )
    _to_save: list[AggregateRoot] = attrs.field(factory=list, init=False)
    _reservation: Reservation | None = attrs.field(default=None, init=False)
    _ended: bool = attrs.field(default=False, init=False)

    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        """Return the aggregate with that id; the same instance each time.

        Raises:
            AggregateNotFoundError: There is none.
            TypeError: It is no class of aggregates.
            UnitOfWorkError: It has ended.
        """
        self._check_open()
        check_class("aggregate_type", aggregate_type, AggregateRoot)
        key = (aggregate_type, aggregate_id)
        if key not in self._loaded:
            found = self._repository(aggregate_type).find_by_id(aggregate_id)
            if found is None:
                raise AggregateNotFoundError(aggregate_type.aggregate_name, aggregate_id)
            self._loaded[key] = found
        return cast("AggregateT", self._loaded[key])  # the key holds the type

    def add(self, aggregate: AggregateRoot) -> None:
        """Have an aggregate saved by ``commit``: a new one, or one that was changed silently.

        Raises:
            TypeError: It is no aggregate.
            UnitOfWorkError: It has ended.
        """
        self._check_open()
        check_type("aggregate", aggregate, AggregateRoot)
        self._repository(type(aggregate))
        if not any(one is aggregate for one in self._to_save):
            self._to_save.append(aggregate)

    def commit(self) -> None:
        """Save the aggregates and store their events in one transaction, then announce them.

        Raises:
            ConcurrencyError: Somebody else changed one of the aggregates; nothing was stored.
            EventSerializationError: An event cannot be written; nothing was stored.
            OutboxStoreError: Nothing was stored, unless the connection was lost in the commit.
            UnitOfWorkError: It has ended.
        """
        self._check_open()
        self._ended = True
        loaded = [one for one in self._loaded.values() if len(one.triggered_events)]
        changed = self._to_save + [
            one for one in loaded if all(one is not added for added in self._to_save)
        ]
        is_outermost = not self.transactions.is_active
        befores = [_Before(one, one.version, one.triggered_events.mark()) for one in changed]
        try:
            stored = self.transactions.execute(lambda: self._store(changed, owned=is_outermost))
        except BaseException:
            for before in befores:
                before.restore()
            self._cancel()
            raise
        if self.eager is not None and is_outermost:
            self.eager.announce(stored, self._reservation)

    def rollback(self) -> None:
        """Undo everything: loaded aggregates drop their events, new ones keep them."""
        if not self._ended:
            self._ended = True
            added = [one for one in self._to_save if not one.is_new]
            for aggregate in (*self._loaded.values(), *added):
                aggregate.triggered_events.cut_back(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.rollback()

    def _store(self, changed: list[AggregateRoot], *, owned: bool) -> list[StoredMessage]:
        """Save, then store: the rows get their numbers after the aggregates are locked."""
        messages: list[OutboxMessage] = []
        for aggregate in changed:
            self._repository(type(aggregate)).save(aggregate)
            events = aggregate.triggered_events.drain()
            messages += self.encoding.encode_all(aggregate, events, version=aggregate.version)
        if not messages:
            return []
        if self.eager is not None and owned:
            self._reservation = self.eager.reserve(len(messages))
        return self.store.store(messages, reservation=self._reservation)

    def _cancel(self) -> None:
        if self.eager is not None and self._reservation is not None:
            self.eager.cancel(self._reservation)

    def _repository(self, aggregate_type: type[AggregateRoot]) -> IRepository[Any]:
        for base in aggregate_type.__mro__:
            if base in self.repositories:
                return self.repositories[base]
        raise UnitOfWorkError(f"no repository is wired for {aggregate_type.__qualname__}")

    def _check_open(self) -> None:
        if self._ended:
            raise UnitOfWorkError("this unit of work has ended: make a new one for the next change")


@attrs.frozen
class _Before:
    """What an aggregate was before the commit, to go back to if that fails."""

    aggregate: AggregateRoot
    version: int
    events: EventsMark

    def restore(self) -> None:
        """A new aggregate keeps its events; a loaded one drops them: it must be loaded again."""
        self.aggregate.version = self.version
        if self.aggregate.is_new:
            self.aggregate.triggered_events.reset(self.events)
        else:
            self.aggregate.triggered_events.cut_back(0)
