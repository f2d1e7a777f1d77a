"""No connection to a SQLite file is open while the process forks.

SQLite keeps in memory what this process has locked. A child inherits that memory, but not the
locks: it would take files to be locked by itself, wait for connections that it does not have,
and write without a lock.
"""

import contextlib
import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

from pragmatic_ddd.application.forking import around_fork, reset_in_child

_logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 10.0


@attrs.define(eq=False)
class SqliteForkGate:
    """Holds back a fork until no connection of an engine is in use, and new uses until then.

    Attributes:
        engine: Its idle connections are closed before each fork.
    """

    engine: sa.Engine
    _changed: threading.Condition = attrs.field(init=False)
    _in_use: Counter[int] = attrs.field(init=False)
    _forking: int | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._begin_open()
        sa.event.listen(self.engine, "do_connect", self._connect)
        sa.event.listen(self.engine, "checkout", self._enter)
        sa.event.listen(self.engine, "checkin", self._leave)
        around_fork(before=self._close, after=self._open)
        reset_in_child(self._begin_open)

    @contextlib.contextmanager
    def held_open(self) -> Iterator[None]:
        """Hold back a fork while a connection is being made: nobody has checked it out yet."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _connect(
        self, dialect: sa.Dialect, record: object, arguments: list[Any], keywords: dict[str, Any]
    ) -> DBAPIConnection:
        # SQLAlchemy asks nobody after the one who connects: later listeners are asked from here.
        from_here = itertools.dropwhile(
            lambda listener: listener != self._connect, dialect.dispatch.do_connect
        )
        with self.held_open():
            for listener in itertools.islice(from_here, 1, None):
                connection: DBAPIConnection | None = listener(dialect, record, arguments, keywords)
                if connection is not None:
                    return connection
            return dialect.connect(*arguments, **keywords)

    def _begin_open(self) -> None:
        self._changed = threading.Condition()
        self._in_use = Counter()
        self._forking = None

    def _enter(self, *_: object) -> None:
        me = threading.get_ident()
        with self._changed:
            # Who has a connection may need another one to be done with it: the fork waits for that.
            self._changed.wait_for(lambda: self._forking in (None, me) or self._in_use[me] > 0)
            self._in_use[me] += 1

    def _leave(self, *_: object) -> None:
        """Mostly in the thread that took the connection; the sum counts in any case."""
        me = threading.get_ident()
        with self._changed:
            self._in_use[me] -= 1
            if not self._in_use[me]:
                del self._in_use[me]
            self._changed.notify_all()

    def _close(self) -> None:
        me = threading.get_ident()
        end = time.monotonic() + _PATIENCE_SECONDS
        with self._changed:
            self._changed.wait_for(lambda: self._forking is None, _PATIENCE_SECONDS)
            self._forking = me
            is_idle = self._changed.wait_for(self._is_idle, max(0.0, end - time.monotonic()))
        if not is_idle:
            _logger.warning("%s is in use while the process forks: unsafe", self.engine.url)
        self.engine.dispose()

    def _is_idle(self) -> bool:
        """Not counting what the forking thread itself has open: it would wait for itself."""
        return self._in_use.total() <= max(0, self._in_use[threading.get_ident()])

    def _open(self) -> None:
        with self._changed:
            self._forking = None
            self._changed.notify_all()
