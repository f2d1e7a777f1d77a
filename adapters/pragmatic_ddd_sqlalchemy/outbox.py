"""The outbox of an application on SQLAlchemy: attach it once, and commits store their events.

    outbox = SqlAlchemyOutbox(store=store, encoding=EventEncoding(serializer=serializer))
    outbox.attach(sessions)                      # a sessionmaker or an async_sessionmaker

    with sessions.begin() as session:            # a plain session, nothing else to call
        session.get_one(Order, order_id).pay()

Whatever the session does, an outbox row exists if and only if its transaction was committed:

    savepoint rolled back   what was raised inside it is gone
    rollback                loaded aggregates drop their events with their changes; new ones keep
                            both, and may be added again
    expunge, close          a change that was not flushed leaves with its events; one that was
                            flushed is stored with them, or rolled back
    expire, refresh         a change that was not flushed is given up, and its events with it;
                            so where populate_existing() overwrites one, with autoflush off
    delete                  is a change: its events carry the version after the last one
    merge                   carries the events to the copy; refused where it cannot
    bulk_save_objects       refused for aggregates with events, which it would lose

A two-phase session, AUTOCOMMIT, and an aggregate on another engine than the outbox are refused
before anything is written: aggregate and events would be two facts. So is, for the same reason,
a commit of the connection that leaves out the session which has written on it. A COMMIT sent as
SQL goes unnoticed: send none.

A plain session, made by a sessionmaker without an outbox, leaves events where they are: on the
aggregate, unstored.
"""

from typing import Any, Protocol

import attrs
import sqlalchemy as sa
from attrs.validators import optional
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.arguments import implements, of_type, shown
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.recorder import OutboxRecorder
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy import recorder
from pragmatic_ddd_sqlalchemy.eager_path import IEagerPath
from pragmatic_ddd_sqlalchemy.engine import refuse_unsafe
from pragmatic_ddd_sqlalchemy.event_places import EventPlaces
from pragmatic_ddd_sqlalchemy.outbox_session import OutboxSession
from pragmatic_ddd_sqlalchemy.outbox_writer import OutboxWriter
from pragmatic_ddd_sqlalchemy.session_hook import SessionHook
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore


class IAsyncSessions(Protocol):
    """What is needed of an ``async_sessionmaker``; its module cannot be had without greenlet."""

    class_: Any  # AsyncSession or a class derived from it
    kw: dict[str, Any]

    def configure(self, **new_kw: object) -> None:
        """Change the arguments that sessions are made with."""


class IAsyncSession(Protocol):
    """What is needed of an ``AsyncSession``."""

    sync_session: Session


@attrs.define(kw_only=True, eq=False)
class SqlAlchemyOutbox:
    """Stores the events of aggregates in the transaction that stores the aggregates.

    Attributes:
        store: The outbox. It has a sync engine of its own, also where sessions are async.
        encoding: How events are encoded.
        eager: Pushes what has been committed; ``None``: everything is the relay's.
        places: Has the messages of some aggregates say which event was before theirs, for
            consumers that look for gaps; ``None``: nobody pays for that.

    Raises:
        ConfigurationError: With ``eager``, the store's engine is one that another thread must
            not share: a SQLite database in memory, or one connection for all.
        TypeError: Something else was given than is asked for.
    """

    store: SqlAlchemyOutboxStore = attrs.field(validator=of_type(SqlAlchemyOutboxStore))
    encoding: EventEncoding = attrs.field(validator=of_type(EventEncoding))
    eager: IEagerPath | None = attrs.field(default=None, validator=optional(implements(IEagerPath)))
    places: EventPlaces | None = attrs.field(default=None, validator=optional(of_type(EventPlaces)))

    def __attrs_post_init__(self) -> None:
        if self.eager is not None:
            refuse_unsafe(self.store.engine)

    def attach(self, sessions: sessionmaker[Any] | IAsyncSessions) -> None:
        """Hook the sessions that a sessionmaker makes from now on.

        Sessions bound to a connection (a test that rolls everything back, say) store events
        like any other, but leave them to the relay: they do not know whether, or when, the
        connection's transaction is committed.

        Raises:
            UnitOfWorkError: It has an outbox already.
            TypeError: It is no sessionmaker.
        """
        if isinstance(sessions, sessionmaker):
            sessions.class_ = self._hooked(sessions.class_)
        elif hasattr(getattr(sessions, "class_", None), "sync_session_class"):
            self._attach_async(sessions)
        else:
            raise TypeError(
                f"{shown(sessions)}: attach the outbox to a sessionmaker or an async_sessionmaker"
            )

    def recorder(self, target: Session | IAsyncSession | sa.Connection) -> OutboxRecorder:
        """Return what records events in the transaction of a session or a connection.

        In a session they wait for its commit, and go with a savepoint that is rolled back. On
        a connection each is inserted at once.

        Raises:
            UnitOfWorkError: The session was not made by a sessionmaker of this outbox.
            TypeError: It is neither.
        """
        if isinstance(target, sa.Connection):
            return OutboxRecorder(
                encoding=self.encoding, write=recorder.on_connection(target, self.store)
            )
        session = getattr(target, "sync_session", target)
        if not isinstance(session, Session):
            raise TypeError(f"{shown(target)}: record in a session or on a (sync) connection")
        if not isinstance(session, OutboxSession) or session.outbox is not self:
            raise UnitOfWorkError("this outbox is not attached to the session's sessionmaker")
        return OutboxRecorder(encoding=self.encoding, write=recorder.in_session(session))

    def _attach_async(self, sessions: IAsyncSessions) -> None:
        inner = sessions.kw.get("sync_session_class") or sessions.class_.sync_session_class
        if isinstance(inner, sessionmaker):
            self.attach(inner)
        else:
            sessions.configure(sync_session_class=self._hooked(inner))

    def _hooked(self, session_class: type[Session]) -> type[OutboxSession]:
        """Return a class of its own: nobody else's sessions are hooked with it."""
        if issubclass(session_class, OutboxSession):
            raise UnitOfWorkError("an outbox is attached to this sessionmaker already")
        bases = (OutboxSession, session_class)
        hooked = type(session_class.__name__, bases, {"outbox": self})
        writer = OutboxWriter(
            store=self.store, encoding=self.encoding, eager=self.eager, places=self.places
        )
        SessionHook(writer).listen_to(hooked)
        return hooked
