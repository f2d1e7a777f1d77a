"""What happens right before the outermost commit: versioned writes, then outbox rows.

    touch, flush, build deferred events ──▶ until nothing new ──▶ encode ──▶ reserve ──▶ INSERT

The INSERT waits for the COMMIT where both can be sent at once.

The rows come after the aggregates' own UPDATE, in the same transaction: within one aggregate,
the order of their ids is the order of the commits.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Sequence

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.domain import AggregateRoot, DomainEvent
from pragmatic_ddd.errors import ForeignEventError, UnitOfWorkError
from pragmatic_ddd.ports import OutboxMessage, Reservation, StoredMessage
from pragmatic_ddd_sqlalchemy.eager_path import IEagerPath
from pragmatic_ddd_sqlalchemy.event_places import EventPlaces
from pragmatic_ddd_sqlalchemy.frame_stack import FrameStack
from pragmatic_ddd_sqlalchemy.outbox_connection import outbox_connection
from pragmatic_ddd_sqlalchemy.session_frames import Pin, State
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.versioned_writes import (
    is_plainly_changed,
    touch,
    version_key,
    version_of,
)

_MOST_ROUNDS = 100

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class OutboxWriter:
    """Writes the events of a session's transaction to the outbox, and tells the eager path.

    Attributes:
        store: Where the rows go, through the session's own connection.
        encoding: How events are encoded.
        eager: Told after the commit; ``None``: everything is the relay's.
        places: Tells messages which place was before theirs; ``None``: nobody does.
    """

    store: SqlAlchemyOutboxStore
    encoding: EventEncoding
    eager: IEagerPath | None = None
    places: EventPlaces | None = None
    _without_order: set[type] = attrs.field(factory=set, init=False)
    _insertion: sa.Insert = attrs.field(init=False, repr=False)

    @_insertion.default
    def _insertion_into_the_outbox(self) -> sa.Insert:
        return sa.insert(self.store.table)

    def before_flush(self, session: Session, stack: FrameStack) -> None:
        """Have the flush write every aggregate with events.

        Raises:
            UnitOfWorkError: Their rows could not be stored in the same transaction, so that the
                flush must not write anything either.
        """
        pins = stack.unwritten.items()
        states = [state for state, pin in pins if pin.event_count and state not in stack.checked]
        if states:
            self._connect(session, stack, states)
        if not stack.is_touched:
            touch_unwritten(session, stack)

    def write(self, session: Session, stack: FrameStack) -> None:
        """Store the events of a transaction that is about to be committed.

        Raises:
            BrokenRuleAggregateError: An aggregate has noted broken rules. Nothing was stored.
            ForeignEventError: The id of an aggregate was changed after it had raised an event.
            UnitOfWorkError: It could not be done in one transaction, or events raise events
                without end. Nothing was stored; roll back.
        """
        stack.debt.is_open |= bool(stack.pins)
        pins = self._settle(session, stack)
        stack.refuse_broken()
        messages = [*self._messages(stack, pins), *stack.top.records]
        if messages:
            self._store(session, stack, messages, [state for state, _ in pins])
        stack.is_sealed = True
        stack.debt.is_open = False

    def finish(self, stack: FrameStack) -> None:
        """Announce what a transaction has stored, or give up what it has reserved.

        Nothing that goes wrong here reaches the caller: the outcome of the transaction stands.
        """
        if self.eager is None or stack.is_joined:
            return
        try:
            if stack.is_committed and stack.stored:
                self.eager.announce(stack.stored, stack.reservation)
            elif stack.reservation is not None:
                self.eager.cancel(stack.reservation)
        except Exception:  # the transaction has ended, so this is nobody's to handle
            _logger.exception("eager path failed: %d events left to the relay", len(stack.stored))

    def _settle(self, session: Session, stack: FrameStack) -> list[tuple[State, Pin]]:
        """Flush and build deferred events until nothing new comes of it.

        Returns:
            The aggregates whose events are to be stored.
        """
        for rounds in range(_MOST_ROUNDS):
            touch_unwritten(session, stack)  # else it might not flush, if nothing else has changed
            stack.is_touched = True
            try:
                session.flush()
            finally:
                stack.is_touched = False
            if not rounds:
                for pin in stack.pins.values():
                    pin.begin()
            pins = list(stack.pins_with_events())
            built = [pin.build() for _, pin in pins]
            # What listeners to the first flush have changed is in the second one.
            if not any(built) and (rounds or not (stack.unwritten or session.dirty)):
                return pins
        raise UnitOfWorkError(f"events still raise events after {_MOST_ROUNDS} rounds")

    def _messages(
        self, stack: FrameStack, pins: Iterable[tuple[State, Pin]]
    ) -> list[OutboxMessage]:
        """Encode, giving each event its place: the version written, and an index in it."""
        places: dict[tuple[str, str, int], tuple[AggregateRoot, list[DomainEvent]]] = {}
        for state, pin in pins:
            aggregate = pin.aggregate
            version = version_of(aggregate, state, stack.write_of(state))
            if not version:
                self._warn_without_order(type(aggregate))
            _refuse_other_id(aggregate, state, pin.built)
            place = aggregate.aggregate_name, pin.built[0].aggregate_id, version
            places.setdefault(place, (aggregate, []))[1].extend(pin.built)
        return [
            message
            for (*_, version), (aggregate, events) in places.items()
            for message in self.encoding.encode_all(aggregate, events, version=version)
        ]

    def _warn_without_order(self, aggregate_type: type[AggregateRoot]) -> None:
        if aggregate_type not in self._without_order:
            self._without_order.add(aggregate_type)
            _logger.warning(
                "%s is mapped without version_id_col: its events are stored, but may overtake "
                "each other, and lost updates go unnoticed",
                aggregate_type.__qualname__,
            )

    def _store(
        self,
        session: Session,
        stack: FrameStack,
        messages: list[OutboxMessage],
        states: Sequence[State],
    ) -> None:
        connection = stack.connection
        if connection is None or not stack.checked.issuperset(states):
            connection = self._connect(session, stack, states)
        if self.places is not None:
            messages = self.places.told(connection, messages)
        if self.eager is not None and not stack.is_joined:
            stack.reservation = _reserve(self.eager, len(messages))
        try:
            storing = None
            if len(stack.shares) == 1 and not stack.is_joined:
                storing = self.store.storing_with_commit(connection, messages, stack.reservation)
            if storing is None:
                stack.stored = self.store.store_in(connection, messages, stack.reservation)
            else:
                stack.storing = functools.partial(self._store_with_commit, stack, storing)
        except BaseException:
            self._give_up(stack)
            raise

    def _store_with_commit(
        self, stack: FrameStack, storing: Callable[[], list[StoredMessage]]
    ) -> None:
        try:
            stack.stored = storing()
        except BaseException:
            self._give_up(stack)
            raise

    def _give_up(self, stack: FrameStack) -> None:
        self.finish(stack)
        stack.reservation = None

    def _connect(
        self, session: Session, stack: FrameStack, states: Iterable[State]
    ) -> sa.Connection:
        store, insertion = self.store, self._insertion
        return outbox_connection(session, stack, states, store=store, insertion=insertion)


def touch_unwritten(session: Session, stack: FrameStack) -> None:
    """Have the next flush write every aggregate that has events and was not written yet.

    It does so by itself where a value has changed, unless a listener takes that back: then the
    aggregate is still unwritten afterwards, has no change any more, and the next flush writes it.
    """
    pins = stack.unwritten.items()
    unchanged = [one for one in pins if one[1].event_count and not is_plainly_changed(one[0])]
    if not unchanged:
        return
    deleted = session.deleted
    with session.no_autoflush:  # it may load a version, and is called by the flush itself
        for state, pin in unchanged:
            is_kept = state.persistent and pin.aggregate not in deleted
            if is_kept and version_key(state.mapper) is not None:
                touch(pin.aggregate)


def _refuse_other_id(aggregate: AggregateRoot, state: State, events: list[DomainEvent]) -> None:
    """Raise where an aggregate's id was changed after it had raised events."""
    identity = state.dict.get("id")
    for event in events:
        if identity is not None and str(identity) != event.aggregate_id:
            raise ForeignEventError(
                aggregate.aggregate_name, identity, event.event_type, event.aggregate_id
            )


def _reserve(eager: IEagerPath, count: int) -> Reservation | None:
    try:
        return eager.reserve(count)
    except Exception:  # without a reservation the rows are the relay's: no reason to fail
        _logger.exception("eager path failed: %d events left to the relay", count)
        return None
