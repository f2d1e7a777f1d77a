"""Local transactions over an engine: one for each thread, joined by whoever runs inside it."""

import threading
from collections.abc import Callable
from typing import TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import refuse_unprepared
from pragmatic_ddd_sqlalchemy.errors import translated
from pragmatic_ddd_sqlalchemy.same_database import commits_each_statement

T = TypeVar("T")


@attrs.define
class _Open:
    connection: sa.Connection
    rollback_only: bool = False


@attrs.define(eq=False)
class SqlAlchemyTransactionOperations:
    """Runs work in a transaction of ``engine``; ``connection`` is the one to work on."""

    engine: sa.Engine
    _thread: threading.local = attrs.field(factory=threading.local, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        refuse_unprepared(self.engine)

    @property
    def connection(self) -> sa.Connection:
        """The connection of the transaction that this thread has open.

        Raises:
            UnitOfWorkError: It has none.
        """
        current = self._current()
        if current is None:
            raise UnitOfWorkError("this thread has no transaction open: work inside execute()")
        return current.connection

    @property
    def is_active(self) -> bool:
        """Whether this thread has a transaction open."""
        return self._current() is not None

    def execute(self, work: Callable[[], T]) -> T:
        current = self._current()
        return self._begin(work) if current is None else self._join(current, work)

    def _join(self, current: _Open, work: Callable[[], T]) -> T:
        try:
            return work()
        except BaseException:
            current.rollback_only = True
            raise

    def _begin(self, work: Callable[[], T]) -> T:
        with translated():
            connection = self.engine.connect()
        try:
            return self._run(_Open(connection), work)
        finally:
            connection.close()

    def _run(self, opened: _Open, work: Callable[[], T]) -> T:
        connection = opened.connection
        with translated(connection):
            transaction = connection.begin()
        if commits_each_statement(connection):
            raise UnitOfWorkError("the engine's driver is in AUTOCOMMIT: nothing would be atomic")
        self._thread.current = opened
        try:
            result = work()
        except BaseException:
            _roll_back(connection, transaction)
            raise
        finally:
            self._thread.current = None
        if opened.rollback_only:
            _roll_back(connection, transaction)
            raise UnitOfWorkError(
                "work that had joined this transaction has failed: all of it is rolled back"
            )
        with translated(connection):
            transaction.commit()
        return result

    def _current(self) -> _Open | None:
        current: _Open | None = getattr(self._thread, "current", None)
        return current


def _roll_back(connection: sa.Connection, transaction: sa.RootTransaction) -> None:
    try:
        transaction.rollback()
    except SQLAlchemyError:
        # The connection is lost, and the server rolls back by itself: never pool it again.
        connection.invalidate()
