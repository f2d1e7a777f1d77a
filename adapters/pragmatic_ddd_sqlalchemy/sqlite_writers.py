"""Which threads have a write transaction open on a SQLite engine.

There is one write lock for a file. A thread that has it, and waits for another one that needs
it, waits until the other one gives up.
"""

import threading
from typing import Self

import attrs
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd_sqlalchemy.engine import reads_only

_OPTION = "pragmatic_ddd_sqlite_writers"


@attrs.define(eq=False)
class SqliteWriters:
    """Notes who begins and ends write transactions on an engine that ``make_sqlite_safe`` made.

    There is one for an engine: ask ``of``. Sessions of an ``AsyncEngine``, and of other engines
    for the same file, are not seen.

    Attributes:
        engine: The engine; transactions of ``read_only(engine)`` take no lock.
    """

    engine: sa.Engine
    # Thread by connection. Without a lock: a connection that nobody has closed is given back
    # while garbage is collected, in the middle of anything.
    _threads: dict[int, int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._begin_empty()
        sa.event.listen(self.engine, "begin", self._note)
        sa.event.listen(self.engine, "commit", self._end)
        sa.event.listen(self.engine, "rollback", self._end)
        sa.event.listen(self.engine, "reset", self._forget)
        sa.event.listen(self.engine, "invalidate", self._forget)
        reset_in_child(self._begin_empty)

    @classmethod
    def of(cls, engine: sa.Engine) -> Self:
        """Return the one of an engine, which keeps it: its listeners stay as long as it does."""
        known = engine.get_execution_options().get(_OPTION)
        if isinstance(known, cls):
            return known
        writers = cls(engine)
        engine.update_execution_options(**{_OPTION: writers})
        return writers

    def _begin_empty(self) -> None:
        self._threads = {}

    def has_this_thread(self) -> bool:
        """Say whether the calling thread has begun a write transaction, and not ended it."""
        return threading.get_ident() in list(self._threads.values())

    def _note(self, connection: sa.Connection) -> None:
        if not reads_only(connection):
            begun = connection.connection.dbapi_connection
            self._threads[id(begun)] = threading.get_ident()

    def _end(self, connection: sa.Connection) -> None:
        if not connection.invalidated:
            self._forget(connection.connection.dbapi_connection)

    def _forget(self, connection: DBAPIConnection | None, *_: object) -> None:
        self._threads.pop(id(connection), None)
