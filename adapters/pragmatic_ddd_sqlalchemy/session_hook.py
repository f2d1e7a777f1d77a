"""The outbox in a session's life: which of its events are listened to, and what they cause.

    load, add ──▶ watch the aggregate     it collects ──▶ pin it to the transaction
    before_flush ──▶ data-sync hooks
    before_flush, before_commit ──▶ versioned writes, outbox rows
    after_commit ──▶ the aggregates forget what is stored        (no SQL here)
    after_transaction_end ──▶ announce, or drop what never happened

``before_commit`` and ``after_commit`` also fire when a savepoint is released, and neither of
them, nor ``after_rollback``, fires when a session is closed. ``after_transaction_end`` always does.
With savepoints open, ``before_commit`` does not tell which of the transactions is committed.
"""

import attrs
from sqlalchemy import Connection, event
from sqlalchemy.orm import SessionTransaction
from sqlalchemy.orm.attributes import instance_state

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd_sqlalchemy.connection_commits import notice_connection, notice_end
from pragmatic_ddd_sqlalchemy.outbox_session import OutboxSession
from pragmatic_ddd_sqlalchemy.outbox_writer import OutboxWriter
from pragmatic_ddd_sqlalchemy.versioned_writes import notice_writes, restore_version


@attrs.frozen
class SessionHook:
    """Listens to the sessions of one class.

    Attributes:
        writer: Writes what they commit.
    """

    writer: OutboxWriter

    def listen_to(self, sessions: type[OutboxSession]) -> None:
        """Hook every session of a class that is made from now on."""
        notice_writes()
        for name in ("after_attach", "loaded_as_persistent"):
            event.listen(sessions, name, _watch)
        for name in ("persistent_to_detached", "deleted_to_detached"):
            event.listen(sessions, name, _leave)
        for name in ("pending_to_transient", "persistent_to_transient"):
            event.listen(sessions, name, _become_new)
        event.listen(sessions, "after_transaction_create", _begin)
        event.listen(sessions, "after_begin", _take_up)
        event.listen(sessions, "before_flush", self._before_flush)
        event.listen(sessions, "after_flush", _note_debt)
        event.listen(sessions, "before_commit", self._write)
        # First of all: a listener that fails must not hide that the transaction is committed.
        event.listen(sessions, "after_commit", _note_commit, insert=True)
        event.listen(sessions, "after_transaction_end", self._end)

    def _before_flush(self, session: OutboxSession, _context: object, _instances: object) -> None:
        session.outbox_work.trigger_hooks(session)
        stack = session.outbox_work.stack
        if stack is not None:
            self.writer.before_flush(session, stack)

    def _write(self, session: OutboxSession) -> None:
        stack = session.outbox_work.stack
        if stack is None:
            return
        if session.in_nested_transaction():
            # Releasing a savepoint is no commit. But it may be the outermost one, which releases
            # what is still open first: that shows when it has done so.
            stack.begin_commit()
        else:
            self.writer.write(session, stack)

    def _end(self, session: OutboxSession, transaction: SessionTransaction) -> None:
        work = session.outbox_work
        stack = work.end(transaction)
        if stack is None:
            if work.stack is not None and work.stack.take_up_commit():
                self.writer.write(session, work.stack)
            return
        notice_end(stack)
        if not stack.is_committed:
            stack.drop_events()
        work.when_ended(lambda: self.writer.finish(stack))


def _begin(session: OutboxSession, transaction: SessionTransaction) -> None:
    session.outbox_work.begin(transaction)


def _take_up(session: OutboxSession, _: SessionTransaction, connection: Connection) -> None:
    stack = session.outbox_work.stack
    if stack is not None:
        notice_connection(stack, connection)


def _note_debt(session: OutboxSession, _context: object) -> None:
    stack = session.outbox_work.stack
    if stack is not None and not stack.is_touched:  # else it is noted while it is committed
        stack.note_debt()


def _watch(session: OutboxSession, instance: object) -> None:
    if isinstance(instance, AggregateRoot):
        session.outbox_work.observe(session, instance)


def _leave(session: OutboxSession, instance: object) -> None:
    if isinstance(instance, AggregateRoot):
        session.outbox_work.leave(instance)


def _become_new(session: OutboxSession, instance: object) -> None:
    if isinstance(instance, AggregateRoot):
        work, state = session.outbox_work, instance_state(instance)
        work.become_new(instance)
        if work.versions_before and state in work.versions_before:
            restore_version(instance, work.versions_before.pop(state))


def _note_commit(session: OutboxSession) -> None:
    stack = session.outbox_work.stack
    if stack is not None:
        stack.note_commit()
