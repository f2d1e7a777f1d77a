"""Recording events in a transaction of SQLAlchemy, where there is no aggregate to raise them."""

from collections.abc import Callable

import attrs
import sqlalchemy as sa

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd_sqlalchemy.outbox_session import OutboxSession
from pragmatic_ddd_sqlalchemy.same_database import commits_each_statement, refuse_other_database
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore

MessageWriter = Callable[[OutboxMessage], object]


def in_session(session: OutboxSession) -> MessageWriter:
    """Return what has messages wait for the session's commit; a savepoint can take them back."""

    def write(message: OutboxMessage) -> None:
        session.outbox_work.record(session, _without_place(message))

    return write


def on_connection(connection: sa.Connection, store: SqlAlchemyOutboxStore) -> MessageWriter:
    """Return what inserts messages at once, in the connection's transaction."""

    def write(message: OutboxMessage) -> None:
        refuse_other_database(connection.engine, store.engine)
        if commits_each_statement(connection):
            raise UnitOfWorkError("the connection is in AUTOCOMMIT: record in a transaction")
        store.store_in(connection, [_without_place(message)])

    return write


def _without_place(message: OutboxMessage) -> OutboxMessage:
    # A version would have the row born owned, which is sound only after a version check.
    return attrs.evolve(message, aggregate_version=None, event_index=0)
