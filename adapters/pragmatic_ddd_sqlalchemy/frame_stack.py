"""What the open transactions of a session have collected and written: frames on a stack.

    outermost transaction    frame ◀─┐
      └─ savepoint           frame ──┘ released: joins the frame below; rolled back: undone
           └─ savepoint      frame

A frame exists for the outermost transaction and for each savepoint in it. When the outermost
transaction ends the whole stack is gone, so nothing leaks into the next one.
"""

from collections.abc import Callable, Iterator

import attrs
from sqlalchemy import Connection, RootTransaction, Transaction
from sqlalchemy.orm import SessionTransaction
from sqlalchemy.orm.attributes import instance_state

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.domain.work_unit_state import forget_operations, pull_broken_rules
from pragmatic_ddd.errors import BrokenRuleAggregateError, DomainError
from pragmatic_ddd.ports import Reservation, StoredMessage
from pragmatic_ddd_sqlalchemy.session_frames import Debt, Frame, Pin, State, Write


@attrs.define(eq=False)
class FrameStack:
    """One outermost transaction of a session, with the savepoints that are open in it.

    Attributes:
        frames: The outermost first.
        pins: Aggregates that have collected events in it, or noted operations or broken rules.
        unwritten: Those of them whose row it has yet to write under its version check.
        connection: Where its outbox rows go, once that is known.
        checked: Aggregates of which it is known that their rows go there, too.
        commits_begun: For each commit begun with savepoints open, and not ended: frames then.
        is_committed: Whether the innermost transaction has just been committed or released.
        is_touched: Whether the flush that is about to begin will write whatever is unwritten.
        is_sealed: Whether its events have been written to the outbox.
        refusal: Why it can only be rolled back: its aggregates have noted broken rules.
        storing: Writes the rows of a sealed transaction together with the COMMIT that ends it.
        stored: The rows written to the outbox.
        reservation: What the eager path has reserved for them.
        is_joined: Whether somebody else commits: the session is bound to a connection.
        shares: Transactions of connections, and what of each ends when this is rolled back.
        debt: What it owes the outbox, should its session be forgotten.
    """

    frames: list[Frame] = attrs.field(factory=list)
    pins: dict[State, Pin] = attrs.field(factory=dict)
    unwritten: dict[State, Pin] = attrs.field(factory=dict)
    connection: Connection | None = None
    checked: set[State] = attrs.field(factory=set)
    commits_begun: list[int] = attrs.field(factory=list)
    is_committed: bool = False
    is_touched: bool = False
    is_sealed: bool = False
    refusal: DomainError | None = None
    storing: Callable[[], None] | None = None
    stored: list[StoredMessage] = attrs.field(factory=list)
    reservation: Reservation | None = None
    is_joined: bool = False
    shares: dict[RootTransaction, Transaction] = attrs.field(factory=dict)
    debt: Debt = attrs.field(factory=Debt)

    @property
    def is_unstored(self) -> bool:
        """Whether there are events of what it has written, and no outbox rows yet."""
        if self.is_sealed:
            return False
        for frame in self.frames:
            if frame.records:
                return True
        return any(self.write_of(state) for state, _ in self.pins_with_events())

    @property
    def top(self) -> Frame:
        """The frame of the innermost open transaction."""
        return self.frames[-1]

    def push(self, transaction: SessionTransaction) -> None:
        """Open a frame."""
        self.frames.append(Frame(transaction))

    def pop(self) -> None:
        """End the innermost savepoint: into the frame below when it was released, else undone."""
        frame = self.frames.pop()
        if self.is_committed:
            self.top.absorb(frame)
        else:
            self._undo(frame)
            self.commits_begun = [n for n in self.commits_begun if n <= len(self.frames)]
        self.is_committed = False

    def pin(self, aggregate: AggregateRoot, *, mark: int) -> None:
        """Keep an aggregate until the transaction ends; ``mark``: how many events to go back to."""
        state = instance_state(aggregate)
        pin = self.pins.get(state)
        if pin is None:
            pin = self.pins[state] = Pin(aggregate)
        pin.left_with = None
        self.frames[-1].marks.setdefault(state, mark)
        if self.write_of(state) is None:
            self.unwritten[state] = pin

    def unpin(self, state: State) -> None:
        """Let an aggregate go, with its events."""
        self.pins.pop(state, None)
        self.unwritten.pop(state, None)
        for frame in self.frames:
            frame.marks.pop(state, None)

    def leave(self, state: State, *, is_changed: bool) -> None:
        """Note that an aggregate leaves the session: what was not written goes with it."""
        pin = self.pins.get(state)
        write = self.write_of(state)
        if pin is None:
            return
        if write is None:
            self.unpin(state)
        else:
            raised = len(pin.aggregate.triggered_events)
            pin.left_with = write.event_count if is_changed else raised

    def discard(self, state: State) -> None:
        """Note that changes of an aggregate are given up: its events since the last write go."""
        pin, write = self.pins.get(state), self.write_of(state)
        if pin is not None:
            pin.aggregate.triggered_events.cut_back(0 if write is None else write.event_count)

    def note_debt(self) -> None:
        """Note what it owes by now."""
        self.debt.is_open = self.is_unstored

    def note_write(self, state: State, write: Write) -> None:
        """Note that an aggregate's row has been written under its version check."""
        self.unwritten.pop(state, None)
        if write.connection is not self.connection:
            self.checked.discard(state)
        self.frames[-1].note_write(state, write)

    def write_of(self, state: State) -> Write | None:
        """Return the last versioned write of an aggregate in this transaction."""
        for frame in reversed(self.frames):
            write = frame.writes.get(state)
            if write is not None:
                return write
        return None

    def has_inserted(self, state: State) -> bool:
        """Say whether an aggregate is new in this transaction."""
        return any(frame.has_inserted(state) for frame in self.frames)

    def carried_from(self, given: AggregateRoot) -> int:
        """Return how many events of an instance its merged copy has taken over."""
        state = instance_state(given)
        counts = [frame.carried[state][1] for frame in self.frames if state in frame.carried]
        # Expunged after a flush, it has left events here that are stored as its own.
        pin = self.pins.get(state)
        return max(counts, default=0 if pin is None or pin.left_with is None else pin.left_with)

    def pins_with_events(self) -> Iterator[tuple[State, Pin]]:
        """Iterate over the aggregates whose events this transaction has to store."""
        for state, pin in list(self.pins.items()):
            is_saved = state.key is not None or self.write_of(state) is not None
            if is_saved and pin.event_count:
                yield state, pin

    def note_commit(self) -> None:
        """Note a commit or release; after the outermost one, aggregates forget what is stored."""
        self.is_committed = True
        if len(self.frames) == 1:
            self._forget_stored_events()
        elif self.commits_begun:
            self.commits_begun.pop()

    def begin_commit(self) -> None:
        """Note that, with a savepoint open, it or a transaction around it begins to commit."""
        self.commits_begun.append(len(self.frames))

    def take_up_commit(self) -> bool:
        """Say whether the outermost commit has released the last savepoint; true once."""
        if len(self.frames) > 1 or not self.commits_begun:
            return False
        self.commits_begun.clear()
        return True

    def store_with_commit(self) -> None:
        """Do what has waited for the COMMIT of its connection, and is one with it."""
        storing, self.storing = self.storing, None
        if storing is not None:
            storing()

    def refuse_broken(self) -> None:
        """Refuse to commit what has noted broken rules, now and until it is rolled back.

        Raises:
            BrokenRuleAggregateError: Its aggregates have, and forget them: who is refused may
                mend it and come again.
        """
        noted = [one for pin in self.pins.values() for one in pull_broken_rules(pin.aggregate)]
        if noted:
            self.refusal = BrokenRuleAggregateError([one.error() for one in noted])
        if self.refusal is not None:
            raise self.refusal

    def drop_events(self) -> None:
        """Undo everything: loaded aggregates lose their events, new ones keep them."""
        for state, pin in self.pins.items():
            if not self.top.has_inserted(state):
                pull_broken_rules(pin.aggregate)
                _drop_first(pin.aggregate, pin.event_count)
                forget_operations(pin.aggregate)

    def _forget_stored_events(self) -> None:
        for pin in self.pins.values():
            _drop_first(pin.aggregate, len(pin.built))
            forget_operations(pin.aggregate)
        for given, count in self.top.carried.values():
            _drop_first(given, count)

    def _undo(self, frame: Frame) -> None:
        for state, mark in frame.marks.items():
            # Without a key it is new and was never flushed: an outer savepoint ends this one.
            if state.key is not None and not frame.has_inserted(state):
                self.pins[state].aggregate.triggered_events.cut_back(mark)
            if not any(state in below.marks for below in self.frames):
                self.unpin(state)
        for state in frame.writes:
            self._miss_write(state)

    def _miss_write(self, state: State) -> None:
        """Have an aggregate written again whose write is undone, if it is still here."""
        pin = self.pins.get(state)
        if pin is None or self.write_of(state) is not None:
            return
        if pin.left_with is None:
            self.unwritten[state] = pin
        else:
            self.unpin(state)


def _drop_first(aggregate: AggregateRoot, count: int) -> None:
    """Remove an aggregate's first ``count`` events."""
    aggregate.triggered_events.drop_first(count)
