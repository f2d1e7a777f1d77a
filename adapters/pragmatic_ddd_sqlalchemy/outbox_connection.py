"""On which connection of a session its events are stored: the one its aggregates are stored on.

Anything else is refused, because aggregates and events would be two facts.
"""

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.orm import Session

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.frame_stack import FrameStack
from pragmatic_ddd_sqlalchemy.same_database import commits_each_statement, refuse_other_database
from pragmatic_ddd_sqlalchemy.session_frames import State
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore


def outbox_connection(
    session: Session,
    stack: FrameStack,
    states: Iterable[State],
    *,
    store: SqlAlchemyOutboxStore,
    insertion: sa.Insert,
) -> sa.Connection:
    """Return where the rows go, if that is where the aggregates of ``states`` go as well.

    The stack remembers it, and whom it was checked for.

    Args:
        session: Whose transaction it is.
        stack: What is known of that transaction.
        states: Aggregates with events.
        store: The outbox.
        insertion: What is executed there: binds are chosen by table.

    Raises:
        UnitOfWorkError: They could not be stored in one transaction.
    """
    bind = _bind(session, store, insertion)
    connection = session.connection(bind_arguments={"bind": bind})
    refuse_other_database(connection.engine, store.engine)
    _refuse_what_is_not_atomic(session, connection)
    _refuse_other_connections(session, stack, bind, connection, states)
    stack.is_joined = isinstance(bind, sa.Connection)
    stack.connection = connection
    stack.checked.update(states)
    return connection


def _bind(
    session: Session, store: SqlAlchemyOutboxStore, insertion: sa.Insert
) -> sa.Engine | sa.Connection:
    try:
        return session.get_bind(clause=insertion)
    except UnboundExecutionError as error:
        raise UnitOfWorkError(
            f"the session has no bind for the outbox: bind {store.table.fullname} where "
            "its aggregates are bound"
        ) from error


def _refuse_what_is_not_atomic(session: Session, connection: sa.Connection) -> None:
    if session.twophase:
        raise UnitOfWorkError(
            "the outbox does not take part in two-phase commits: what another session prepares "
            "is neither visible nor gone"
        )
    if commits_each_statement(connection):
        raise UnitOfWorkError(
            "the session's connection is in AUTOCOMMIT, where aggregate and events are two facts"
        )


def _refuse_other_connections(
    session: Session,
    stack: FrameStack,
    bind: sa.Engine | sa.Connection,
    connection: sa.Connection,
    states: Iterable[State],
) -> None:
    """Raise where aggregates are stored on another connection than the one to the outbox' bind."""
    for state in states:
        write = stack.write_of(state)
        if write is not None:
            is_other = write.connection is not connection
        elif session.get_bind(mapper=state.mapper) is bind:  # the same bind is the same connection
            is_other = False
        else:
            is_other = session.connection(bind_arguments={"mapper": state.mapper}) is not connection
        if is_other:
            raise UnitOfWorkError(
                f"{state.class_.__name__} is stored on another connection than the "
                f"outbox: bind it and the outbox table to the same engine"
            )
