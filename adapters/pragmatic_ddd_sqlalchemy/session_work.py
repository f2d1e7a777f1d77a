"""What one session has to do for the outbox: which of its aggregates raise events, and when."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from weakref import WeakKeyDictionary

import attrs
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Session, SessionTransaction, object_session
from sqlalchemy.orm.attributes import instance_state

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.domain.work_unit_state import has_collected, observe_collection
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd_sqlalchemy.frame_stack import FrameStack
from pragmatic_ddd_sqlalchemy.session_frames import State, Write


@attrs.define(eq=False)
class SessionWork:
    """What one session has to do for the outbox.

    Attributes:
        stack: Its open transaction.
        waiting: Aggregates that have collected events where no transaction can begin, as in an
            in-process handler of an event just committed; the next transaction takes them.
        waiting_records: The same for messages without an aggregate.
        versions_before: Of aggregates that it inserts, the version before that.
        versions_to_update: Of aggregates that it is just updating, the version before that.
        has_hooks: Whether an aggregate has come in whose class has a data-sync hook.
        held: What is to be done once SQLAlchemy is done with a commit; ``None``: do it at once.
    """

    stack: FrameStack | None = None
    waiting: dict[State, AggregateRoot] = attrs.field(factory=dict)
    waiting_records: list[OutboxMessage] = attrs.field(factory=list)
    versions_before: "WeakKeyDictionary[State, object] | None" = None  # most insert nothing
    versions_to_update: dict[State, object] = attrs.field(factory=dict)
    has_hooks: bool = False
    held: list[Callable[[], None]] | None = None

    def begin(self, transaction: SessionTransaction) -> None:
        """Open a frame for an outermost transaction or a savepoint."""
        if transaction.parent is None:
            self.stack = FrameStack()
            self.stack.push(transaction)
            for aggregate in self.waiting.values():
                self.stack.pin(aggregate, mark=0)
            self.stack.top.records += self.waiting_records
            self.waiting.clear()
            self.waiting_records.clear()
        elif transaction.nested and self.stack is not None:
            self.stack.push(transaction)

    def end(self, transaction: SessionTransaction) -> FrameStack | None:
        """Close a frame; return the stack when it was that of the outermost transaction."""
        stack = self.stack
        if stack is None or stack.frames[-1].transaction is not transaction:
            return None
        if len(stack.frames) > 1:
            stack.pop()
            return None
        self.stack = None
        self.versions_before = None
        self.versions_to_update.clear()
        return stack

    def hold(self) -> None:
        """Hold back what is to be done when a transaction has ended.

        A thread that is woken while this one still has the interpreter wakes up twice.
        """
        self.held = []

    def let_go(self) -> Sequence[Callable[[], None]]:
        """Do what was held back, and return it.

        Whoever drops it frees what the transaction has left behind, its aggregates among that.
        """
        held, self.held = self.held or (), None
        for ending in held:
            ending()
        return held

    def when_ended(self, ending: Callable[[], None]) -> None:
        """Have something done now that a transaction has ended."""
        if self.held is None:
            ending()
        else:
            self.held.append(ending)

    def observe(self, session: Session, aggregate: AggregateRoot) -> None:
        """Watch an aggregate that has come into the session, perhaps with events or operations."""
        observe_collection(aggregate, _collecting)
        if _has_hook(aggregate):
            self.has_hooks = True
        if has_collected(aggregate):
            self.pin(session, aggregate, mark=0)

    def trigger_hooks(self, session: Session) -> None:
        """Call the data-sync hooks of what the flush that is about to begin writes."""
        if not self.has_hooks:
            return
        pinned = [] if self.stack is None else [pin.aggregate for pin in self.stack.pins.values()]
        deleted = session.deleted
        written = {id(one): one for one in (*session.new, *session.dirty, *pinned)}
        for one in written.values():
            is_written = one in session and one not in deleted
            if is_written and isinstance(one, AggregateRoot) and _has_hook(one):
                one.trigger_data_sync_hook()

    def pin(self, session: Session, aggregate: AggregateRoot, *, mark: int) -> None:
        """Keep an aggregate that has events, or is about to collect one."""
        stack = self._open_stack(session)
        if stack is None:
            self.waiting.setdefault(instance_state(aggregate), aggregate)
        else:
            stack.pin(aggregate, mark=mark)

    def leave(self, aggregate: AggregateRoot) -> None:
        """Note that an aggregate was expunged, or that the session closes."""
        state = instance_state(aggregate)
        self.waiting.pop(state, None)
        if self.stack is not None:
            is_changed = _is_changed(state, cascade="expunge")
            self.stack.leave(state, is_changed=is_changed)

    def discard(self, aggregate: AggregateRoot, names: Iterable[str] | None) -> None:
        """Drop the events of changes that are about to be overwritten with what is stored."""
        state = instance_state(aggregate)
        is_discarding = (
            _is_changed(state, cascade="refresh-expire")
            if names is None
            else any(name in state.committed_state for name in names)
        )
        if is_discarding and self.stack is not None:
            self.stack.discard(state)

    def overwritten(self, aggregate: AggregateRoot, names: Collection[str] | None) -> None:
        """Drop the events of changes that a query has just overwritten with what is stored.

        So ``populate_existing`` does where no flush comes first. Children keep their changes.
        """
        state = instance_state(aggregate)
        is_overwritten = (
            state.modified
            if names is None
            else any(name in state.committed_state for name in names)
        )
        if is_overwritten and self.stack is not None:
            self.stack.discard(state)

    def become_new(self, aggregate: AggregateRoot) -> None:
        """Let an aggregate go with all its events: it was never inserted, after all."""
        state = instance_state(aggregate)
        self.waiting.pop(state, None)
        if self.stack is not None:
            self.stack.unpin(state)

    def note_version_before(self, state: State, version: object) -> None:
        """Note the version that an aggregate has before it is inserted; the first one stays."""
        if self.versions_before is None:
            self.versions_before = WeakKeyDictionary()
        self.versions_before.setdefault(state, version)

    def written(self, state: State, write: Write) -> None:
        """Note that the flush has written an aggregate's row under its version check."""
        if self.stack is not None:
            self.stack.note_write(state, write)

    def record(self, session: Session, message: OutboxMessage) -> None:
        """Have a message stored that no aggregate has raised."""
        stack = self._open_stack(session)
        records = self.waiting_records if stack is None else stack.top.records
        records.append(message)
        if stack is not None:
            stack.note_debt()

    def carry(self, session: Session, given: AggregateRoot, merged: AggregateRoot) -> None:
        """Raise the events of an instance given to ``merge`` on its copy.

        They leave the given one when the copy's are stored: a merge may have to be repeated.
        """
        stack = self._open_stack(session)
        ready = given.triggered_events.snapshot()
        carried = 0 if stack is None else stack.carried_from(given)
        for event in ready[carried:]:
            merged.collect_event(event)
        if stack is not None and len(ready) > carried:
            stack.top.carried[instance_state(given)] = given, len(ready)

    def _open_stack(self, session: Session) -> FrameStack | None:
        if self.stack is None and session.autobegin:
            # As a change of an attribute does, and not where SQLAlchemy would refuse that.
            with contextlib.suppress(InvalidRequestError):
                session.begin()
        stack = self.stack
        if stack is None or (stack.is_committed and len(stack.frames) == 1):
            return None
        if stack.is_sealed:
            raise UnitOfWorkError(
                "the events of this transaction are in the outbox already, so no more can be "
                "raised: register your before_commit listener before the outbox is attached"
            )
        return stack


def _collecting(aggregate: AggregateRoot) -> None:
    """Pin an aggregate just before it collects an event."""
    session = object_session(aggregate)
    work = getattr(session, "outbox_work", None)
    if session is not None and isinstance(work, SessionWork):
        work.pin(session, aggregate, mark=len(aggregate.triggered_events))


def _has_hook(aggregate: AggregateRoot) -> bool:
    hook = type(aggregate).trigger_data_sync_hook
    return hook is not AggregateRoot.trigger_data_sync_hook


def _is_changed(state: State, *, cascade: str) -> bool:
    """Say whether an aggregate, or what belongs to it, has changes that are not flushed."""
    if state.modified:
        return True
    return any(part.modified for _, _, part, _ in state.mapper.cascade_iterator(cascade, state))
