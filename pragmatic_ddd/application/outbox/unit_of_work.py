"""A unit of work over repositories: aggregates and their events in one local transaction.

For repositories without an ORM session. With SQLAlchemy's ORM, use the unit of work of its
adapter, or a plain session with the outbox attached.
"""

import attrs
from attrs.validators import optional

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.change_set import ChangeSet
from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.repository_unit_of_work import RepositoryUnitOfWork
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import OutboxMessage, Reservation, StoredMessage


@attrs.define(kw_only=True, eq=False)
class OutboxUnitOfWork(RepositoryUnitOfWork):
    """Saves what it has loaded or was given, writes the outbox, and announces after the commit.

    Every aggregate that was added or registered is saved, and of the loaded ones those that
    raised events. Used by one thread, once.

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

    store: IOutboxStore = attrs.field(validator=implements(IOutboxStore))
    encoding: EventEncoding = attrs.field(validator=of_type(EventEncoding))
    eager: EagerOutboxPublisher | None = attrs.field(
        default=None, validator=optional(of_type(EagerOutboxPublisher))
    )
    _changes: ChangeSet = attrs.field(init=False)
    _reservation: Reservation | None = attrs.field(default=None, init=False)

    @_changes.default
    def _new_changes(self) -> ChangeSet:
        return ChangeSet(self.repositories)

    def commit(self) -> None:
        """Save the aggregates and store their events in one transaction, then announce them.

        Logic and rules come before the transaction: what they read, they read on their own.

        Raises:
            ConcurrencyError: Somebody else changed one of the aggregates; nothing was stored.
            DomainError: Logic has refused, or rules are broken; nothing was stored.
            EventSerializationError: An event cannot be written; nothing was stored.
            OutboxStoreError: Nothing was stored, unless the connection was lost in the commit.
            UnitOfWorkError: It has ended.
        """
        self._changes.end()
        is_outermost = not self.transactions.is_active
        try:
            self._changes.run()
            stored = self.transactions.execute(lambda: self._store(owned=is_outermost))
        except BaseException:
            self._changes.undo()
            self._cancel()
            raise
        self._changes.forget()
        if self.eager is not None and is_outermost:
            self.eager.announce(stored, self._reservation)

    def _store(self, *, owned: bool) -> list[StoredMessage]:
        """Save, then store: the rows get their numbers after the aggregates are locked."""
        messages: list[OutboxMessage] = []
        for aggregate, events in self._changes.save():
            messages += self.encoding.encode_all(aggregate, events, version=aggregate.version)
        if not messages:
            return []
        if self.eager is not None and owned:
            self._reservation = self.eager.reserve(len(messages))
        return self.store.store(messages, reservation=self._reservation)

    def _cancel(self) -> None:
        if self.eager is not None and self._reservation is not None:
            self.eager.cancel(self._reservation)
