"""The transaction that a handler works in: begun, committed and rolled back for it.

    begin ──▶ mark ──▶ already there, or a gap ──▶ roll back
               │  └──▶ lost a race: from the beginning, a few times
               └──▶ handler ──▶ the same transaction is still open, and whole ──▶ commit
                        └── it commits ──▶ refused before anything is committed

A handler that committed in its midst would leave a mark for what it has yet to do.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, UnboundExecutionError
from sqlalchemy.orm import Session

from pragmatic_ddd.application.arguments import can_be_called, shown
from pragmatic_ddd.errors import ConfigurationError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import is_safe
from pragmatic_ddd_sqlalchemy.errors import is_conflict, lost_races_told, translated
from pragmatic_ddd_sqlalchemy.own_transactions import pause
from pragmatic_ddd_sqlalchemy.same_database import commits_each_statement
from pragmatic_ddd_sqlalchemy.undone import notice_undone, refuse_rolling_back, refuse_undone
from pragmatic_ddd_sqlalchemy.unit_of_work import SqlAlchemyUnitOfWork
from pragmatic_ddd_sqlalchemy.writes_elsewhere import writes_elsewhere_refused

WorkT = TypeVar("WorkT", bound=Session | SqlAlchemyUnitOfWork)
AnswerT = TypeVar("AnswerT")

_TRIES = 8
_JOINS_NONE = (
    "an inbox joins none, because what it has marked must be committed when it says that an event "
    "was handled"
)


@attrs.define(eq=False)
class _CommitGuard:
    """Refuses the commits of a connection, by its session or not, until it is opened."""

    is_open: bool = False

    def check(self, connection: sa.Connection) -> None:
        """Refuse a commit.

        Raises:
            UnitOfWorkError: It is not open; the transaction is rolled back.
        """
        if self.is_open:
            return
        # SQLAlchemy takes a commit that fails for one that has ended the transaction.
        with contextlib.suppress(Exception):  # of a connection that is lost
            connection.dialect.do_rollback(connection.connection)
        raise UnitOfWorkError(
            "the inbox commits what a handler has written, together with its mark: the handler "
            "must not"
        )


@attrs.frozen(eq=False)
class HandlerTransactions(Generic[WorkT]):
    """Runs handlers in transactions of their own.

    Attributes:
        begin: Makes what a handler works in: a sessionmaker, or a ``SqlAlchemyUnitsOfWork``.
        table: The inbox's; a session with several binds works where that is bound.

    Raises:
        TypeError: It makes neither; shown at the first event.
    """

    begin: Callable[[], WorkT] = attrs.field(validator=can_be_called())
    table: sa.Table
    _anything: sa.Insert = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        notice_undone()

    @_anything.default
    def _insertion_into_the_inbox(self) -> sa.Insert:
        return sa.insert(self.table)

    def run(
        self,
        mark: Callable[[sa.Connection], AnswerT | None],
        handler: Callable[[WorkT], object],
    ) -> AnswerT | None:
        """Mark, call the handler, and commit, all in one transaction.

        Args:
            mark: Writes the mark; or returns why the handler is not to be called. Repeated, in a
                new transaction, where somebody else was faster.
            handler: Called at most once.

        Returns:
            What ``mark`` has returned: nothing was written then; ``None``: all is committed.

        Raises:
            ConcurrencyError: Somebody else was faster.
            OutboxStoreError: The database failed.
            UnitOfWorkError: The handler has ended the transaction, or written in another one, or
                it would not be one.
            Exception: Whatever the handler raises.
        """
        for tries in range(1, _TRIES):
            try:
                return self._once(mark, handler)
            except _LostRaceError:
                pause(tries)
        try:
            return self._once(mark, handler)
        except _LostRaceError as lost:
            with translated(), lost_races_told():
                raise lost.error from None

    def _once(
        self,
        mark: Callable[[sa.Connection], AnswerT | None],
        handler: Callable[[WorkT], object],
    ) -> AnswerT | None:
        work = self.begin()
        session = _session_of(work)
        if session.in_transaction():  # it is somebody else's, and is left to them
            raise UnitOfWorkError(f"the session is in a transaction already: {_JOINS_NONE}")
        with work:
            connection = self._connection(session)
            answer = self._marked(connection, mark)
            if answer is None:
                self._handle(work, session, connection, handler)
            return answer

    def _connection(self, session: Session) -> sa.Connection:
        if session.twophase:
            raise UnitOfWorkError(
                "an inbox takes no part in two-phase commits: what is prepared is neither handled "
                "nor free to be handled by another one"
            )
        try:
            bind = session.get_bind(clause=self._anything)
        except UnboundExecutionError as error:
            raise UnitOfWorkError(
                f"the session has no bind for the inbox: bind {self.table.fullname} where its "
                "handlers write"
            ) from error
        if isinstance(bind, sa.Connection) and bind.in_transaction():
            raise UnitOfWorkError(f"the session joins its connection's: {_JOINS_NONE}")
        with translated():
            connection = session.connection(bind_arguments={"bind": bind})
        if commits_each_statement(connection):
            raise UnitOfWorkError(
                "the session's connection is in AUTOCOMMIT, where the mark and what the handler "
                "writes are two facts"
            )
        if not is_safe(getattr(connection.engine, "_proxied", connection.engine)):
            problem = f"{connection.engine.url!r} would begin transactions too late"
            raise ConfigurationError([f"{problem}: call make_sqlite_safe(engine) first"])
        return connection

    def _marked(
        self, connection: sa.Connection, mark: Callable[[sa.Connection], AnswerT | None]
    ) -> AnswerT | None:
        try:
            return mark(connection)
        except DBAPIError as error:
            if is_conflict(error):
                raise _LostRaceError(error) from error
            with translated(connection):
                raise

    def _handle(
        self,
        work: WorkT,
        session: Session,
        connection: sa.Connection,
        handler: Callable[[WorkT], object],
    ) -> None:
        begun = session.get_transaction(), connection.get_transaction()
        with _commits_guarded(session, connection) as guard:
            handler(work)
            root = connection.get_transaction()
            is_active = root is not None and root.is_active
            if not is_active or (session.get_transaction(), root) != begun:
                raise UnitOfWorkError(
                    "the handler has ended the transaction in which the event is marked: leave "
                    "that to the inbox"
                )
            with translated(connection):
                refuse_undone(connection)
                refuse_rolling_back(connection)
            guard.is_open = True
            if isinstance(work, SqlAlchemyUnitOfWork):
                work.commit()
            else:
                with translated(connection), lost_races_told():
                    session.commit()


class _LostRaceError(Exception):
    """A mark could not be written because of what others did at the same time."""

    def __init__(self, error: DBAPIError) -> None:
        super().__init__(error)
        self.error = error


@contextlib.contextmanager
def _commits_guarded(session: Session, connection: sa.Connection) -> Iterator[_CommitGuard]:
    """Guard them until the end: both may be used again."""
    guard = _CommitGuard()
    sa.event.listen(connection, "commit", guard.check)
    try:
        with writes_elsewhere_refused(session, connection):
            yield guard
    finally:
        sa.event.remove(connection, "commit", guard.check)


def _session_of(work: object) -> Session:
    if isinstance(work, SqlAlchemyUnitOfWork):
        return work.session
    if isinstance(work, Session):
        return work
    raise TypeError(
        f"{shown(work)}: the inbox works in what a sessionmaker, or SqlAlchemyUnitsOfWork, makes"
    )
