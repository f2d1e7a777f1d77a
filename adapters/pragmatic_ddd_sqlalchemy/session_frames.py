"""What one transaction or savepoint of a session has collected and written.

A frame knows only what happened in it; the stack of them is the whole transaction.
"""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import attrs
from sqlalchemy import Connection, RootTransaction
from sqlalchemy.orm import InstanceState, SessionTransaction

from pragmatic_ddd.domain import AggregateRoot, DomainEvent, TriggeredEvents
from pragmatic_ddd.domain.triggered_events import EventsMark
from pragmatic_ddd.ports import OutboxMessage

State = InstanceState[Any]  # of whatever class is mapped


@attrs.frozen(eq=False)
class Write:
    """A write of an aggregate's row under its version check.

    Attributes:
        connection: Where it was written.
        version: What it gave the row; ``None`` while only the database knows.
        event_count: How many events the aggregate had raised by then.
        is_new: Whether its first row was written in the same frame.
    """

    connection: Connection
    version: object
    event_count: int
    is_new: bool = False


@attrs.define(eq=False)
class Debt:
    """What a transaction of a session owes the outbox; known also of a session that is forgotten.

    Attributes:
        is_open: Whether, by the last flush or record, it had written what has unstored events.
        is_settled: Whether it has ended.
        left_in: Transactions of connections that, all the same, hold what it has written, and
            never its events.
    """

    is_open: bool = False
    is_settled: bool = False
    left_in: "Sequence[ref[RootTransaction]]" = ()


@attrs.define(eq=False)
class Pin:
    """An aggregate with events, kept alive: the identity map of a session is weak.

    Attributes:
        aggregate: The aggregate.
        built: Its events so far, deferred ones built, while the transaction is committed.
        left_with: Once it has left the session, how many of its events stay here.
    """

    aggregate: AggregateRoot
    built: list[DomainEvent] = attrs.field(factory=list)
    left_with: int | None = None
    _events: TriggeredEvents = attrs.field(init=False)

    @_events.default
    def _events_of_the_aggregate(self) -> TriggeredEvents:
        return self.aggregate.triggered_events  # the same ones as long as it lives

    @property
    def event_count(self) -> int:
        """How many events this transaction has to store for it."""
        raised = len(self._events)
        return raised if self.left_with is None else min(raised, self.left_with)

    def begin(self) -> None:
        """Begin a commit with the events that are ready, up to the first deferred one."""
        events = self._to_store()
        self.built.clear()
        for event in events:
            if not isinstance(event, DomainEvent):
                break
            self.built.append(event)

    def build(self) -> bool:
        """Build the events that are not built yet; return whether there were any."""
        events = self._to_store()[len(self.built) :]
        for event in events:
            self.built.append(event if isinstance(event, DomainEvent) else event())
        return bool(events)

    def _to_store(self) -> EventsMark:
        events = self._events.mark()
        return events if self.left_with is None else events[: self.left_with]


@attrs.define(eq=False)
class Frame:
    """What happened in one transaction or savepoint, apart from those inside it.

    Attributes:
        transaction: Whose frame it is.
        marks: How many events an aggregate had when it first collected here.
        writes: Versioned writes. Weak: most aggregates that are written raise no events.
        records: Messages without an aggregate.
        carried: How many events of an instance given to ``merge`` its copy has taken over.
    """

    transaction: SessionTransaction
    marks: dict[State, int] = attrs.field(factory=dict)
    writes: "WeakKeyDictionary[State, Write]" = attrs.field(factory=WeakKeyDictionary)
    records: list[OutboxMessage] = attrs.field(factory=list)
    carried: dict[State, tuple[AggregateRoot, int]] = attrs.field(factory=dict)

    def has_inserted(self, state: State) -> bool:
        """Say whether an aggregate is new here."""
        write = self.writes.get(state)
        return write is not None and write.is_new

    def note_write(self, state: State, write: Write) -> None:
        """Note the last write of an aggregate's row; what is new stays so."""
        is_new = write.is_new or self.has_inserted(state)
        self.writes[state] = write if is_new == write.is_new else attrs.evolve(write, is_new=is_new)

    def absorb(self, released: "Frame") -> None:
        """Take over what a released savepoint leaves behind."""
        self.marks = released.marks | self.marks
        for state, write in released.writes.items():
            self.note_write(state, write)
        self.records += released.records
        self.carried |= released.carried
