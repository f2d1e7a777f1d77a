"""Transactions that the database has rolled back by itself, while their client goes on.

    UPDATE ── deadlock: all of it is rolled back ── error swallowed ──▶ INSERT, COMMIT

PostgreSQL then refuses every further statement, but not the COMMIT: it rolls back, and says so in
a word that drivers pass over. MySQL and MariaDB begin anew in silence, and SQLite commits each
statement by itself: events of changes that are gone would be stored.
"""

import functools
from weakref import WeakSet

import attrs
import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError

from pragmatic_ddd.errors import OutboxStoreError

_MYSQL = ("mysql", "mariadb")
_FORGETFUL = (*_MYSQL, "sqlite")  # which go on as if nothing had happened
# Record changed since the snapshot, lock table full, deadlock.
_UNDOING_CODES = frozenset({1020, 1206, 1213})
# Lock wait timeout: only where innodb_rollback_on_timeout is set.
_TIMEOUT_CODE = 1205
# Of the libpq, in both drivers that have it: in no transaction, and in one that has failed.
_NOTHING_TO_COMMIT = (0, 3)


@attrs.frozen
class _Suspects:
    """Root transactions that met an error after which they may be gone."""

    undone: "WeakSet[sa.RootTransaction]" = attrs.field(factory=WeakSet)
    timed_out: "WeakSet[sa.RootTransaction]" = attrs.field(factory=WeakSet)

    def note(self, context: ExceptionContext) -> None:
        connection = context.connection
        transaction = None if connection is None else connection.get_transaction()
        if connection is None or transaction is None:
            return
        if connection.dialect.name in _MYSQL:
            code = next(iter(getattr(context.original_exception, "args", ())), None)
            if code in _UNDOING_CODES:
                self.undone.add(transaction)
            elif code == _TIMEOUT_CODE:
                self.timed_out.add(transaction)
        elif connection.dialect.name == "sqlite" and not _is_in_transaction(connection):
            self.undone.add(transaction)


@functools.cache
def _suspects() -> _Suspects:
    suspects = _Suspects()
    sa.event.listen(sa.Engine, "handle_error", suspects.note)
    return suspects


def notice_undone() -> None:
    """Have every engine's errors looked at from now on."""
    _suspects()


def refuse_undone(connection: sa.Connection) -> None:
    """Raise where the database has undone what was written in the connection's transaction.

    Raises:
        OutboxStoreError: The transaction must be rolled back, and may be repeated.
    """
    if connection.dialect.name not in _FORGETFUL:
        return
    transaction, suspects = connection.get_transaction(), _suspects()
    is_undone = transaction in suspects.undone or (
        transaction in suspects.timed_out and _rolls_back_on_timeout(connection)
    )
    if is_undone:
        raise OutboxStoreError(
            "after an error the database has rolled back all of this transaction, not only the "
            "statement or savepoint that failed: roll back, and repeat it"
        )


def refuse_rolling_back(connection: sa.Connection) -> None:
    """Raise where PostgreSQL would roll back when it is told to commit.

    For who has nothing more to write, and would not be refused: see ``refuse_undone``.

    Raises:
        OutboxStoreError: The transaction must be rolled back, and may be repeated.
    """
    if connection.dialect.name == "postgresql" and not _is_whole(connection):
        raise OutboxStoreError(
            "after an error, or a statement that has ended it, nothing is left of this transaction "
            "to be committed: roll back, and repeat it"
        )


def _is_whole(connection: sa.Connection) -> bool:
    status = _transaction_status(connection)
    if status is not None:
        return status not in _NOTHING_TO_COMMIT
    try:
        connection.execute(sa.text("SELECT 1"))
    except DBAPIError:
        return False
    return True


def _transaction_status(connection: sa.Connection) -> int | None:
    """Return what the driver knows without asking the server; ``None``: nothing."""
    info = getattr(connection.connection.driver_connection, "info", None)
    status: int | None = getattr(info, "transaction_status", None)
    return status


def _rolls_back_on_timeout(connection: sa.Connection) -> bool:
    return bool(connection.execute(sa.text("SELECT @@innodb_rollback_on_timeout")).scalar())


def _is_in_transaction(connection: sa.Connection) -> bool:
    driver_connection = connection.connection.driver_connection
    return driver_connection is None or bool(getattr(driver_connection, "in_transaction", True))
