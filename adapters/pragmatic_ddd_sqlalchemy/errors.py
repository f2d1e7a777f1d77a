"""SQLAlchemy's errors as the framework's: the one place where they are translated.

    a stale or deleted row, a serialization      ConcurrencyError      of a unit of work,
    failure, a record changed since the snapshot                       retryable
    connection lost, deadlock, timeout, …        OutboxStoreError      retryable
    a value, a constraint or a statement that    RefusedByDatabaseError  final
    the database will refuse again

A connection that has turned out to be of no more use (to a server, or a file, that has become
read-only, or that hung up on a packet too large) is invalidated, so that the pool opens a new one.
"""

import contextlib
from collections.abc import Iterator
from typing import ClassVar

import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    DontWrapMixin,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError

from pragmatic_ddd.errors import ConcurrencyError, InfrastructureError, OutboxStoreError

_FINAL = (DataError, IntegrityError, NotSupportedError, ProgrammingError)

# Serialization failure, deadlock, lock not available.
_CONFLICT_STATES = frozenset({"40001", "40P01", "55P03"})
# Record changed since the snapshot (MariaDB), lock wait timeout, deadlock.
_CONFLICT_CODES = frozenset({1020, 1205, 1213})

# The same, where the business transaction has read or written what another one has changed.
_LOST_RACE_STATES = frozenset({"40001"})
_LOST_RACE_CODES = frozenset({1020})

# A prepared statement that the server has no longer, or not as it was: psycopg prepares it again.
_FORGOTTEN_STATES = frozenset({"26000"})
_CHANGED_PLAN = "RevalidateCachedQuery"  # the server's function that says so, with a general state

_READ_ONLY_STATES = frozenset({"25006"})
# --read-only and --super-read-only, a read-only transaction, a read-only InnoDB.
_READ_ONLY_CODES = frozenset({1290, 1792, 1836})
# SQLITE_READONLY, in the lowest byte: a file that cannot be written, PRAGMA query_only.
_SQLITE_READ_ONLY = 8

# Packet too large: the server answers, and closes the connection.
_TOO_LARGE_CODES = frozenset({1153})

# A table that does not exist; SQLite has only a text for it.
_NO_TABLE_STATES = frozenset({"42P01"})
_NO_TABLE_CODES = frozenset({1146})


class RefusedByDatabaseError(OutboxStoreError):
    """The database has refused this and would refuse it again; nothing was changed."""

    retryable: ClassVar[bool] = False


class ColumnValueError(InfrastructureError, DontWrapMixin):
    """A value does not fit the type of its column, or what is stored there is none of its values.

    Written or compared: the statement was not sent. Read: the row was not loaded. SQLAlchemy
    lets it out as it is.

    Attributes:
        column_type: What the column holds, in words.
        reason: The value and the rule.
    """

    def __init__(self, column_type: str, reason: str) -> None:
        super().__init__(column_type, reason)
        self.column_type = column_type
        self.reason = reason

    def __str__(self) -> str:
        return f"a column of {self.column_type}: {self.reason}"


@contextlib.contextmanager
def lost_races_told() -> Iterator[None]:
    """Let a ConcurrencyError out where somebody else was faster; other errors as they are."""
    try:
        yield
    except (StaleDataError, ObjectDeletedError) as error:
        raise ConcurrencyError(str(error)) from error
    except DBAPIError as error:
        if _says(error, _LOST_RACE_STATES, _LOST_RACE_CODES):
            raise ConcurrencyError(f"{type(error.orig).__name__}: {error.orig}") from error
        raise


@contextlib.contextmanager
def translated(
    connection: sa.Connection | None = None, table: sa.Table | None = None
) -> Iterator[None]:
    """Let the framework's errors out, and no SQLAlchemy error.

    Args:
        connection: Invalidated when the error says that it is of no more use.
        table: The outbox; where the error says that it does not exist, what to do is added.
    """
    try:
        yield
    except SQLAlchemyError as error:
        raise translation(error, connection, table) from error


def translation(
    error: SQLAlchemyError, connection: sa.Connection | None, table: sa.Table | None
) -> OutboxStoreError:
    """Return what ``translated`` raises instead of an error, and do what it does."""
    if not isinstance(error, DBAPIError):
        return OutboxStoreError(f"{type(error).__name__}: {error}")
    if connection is not None:
        _invalidate_if_useless(connection, error)
    return _translation_of_driver(error, table)


def is_conflict(error: BaseException) -> bool:
    """Say whether a transaction failed only because of what others did at the same time."""
    return _says(error, _CONFLICT_STATES, _CONFLICT_CODES)


def is_read_only(error: BaseException) -> bool:
    """Say whether the server that answered takes no writes (any more)."""
    sqlite_code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)
    return sqlite_code & 0xFF == _SQLITE_READ_ONLY or _says(
        error, _READ_ONLY_STATES, _READ_ONLY_CODES
    )


def replace_useless_connections(engine: sa.Engine) -> None:
    """Have the engine do so by itself from now on, also in the application's own sessions.

    After a failover its pool would else hand them, however often they try again, a connection
    to the old primary, which answers, and takes no writes.
    """
    sa.event.listen(engine, "handle_error", _give_up_useless)


def _give_up_useless(context: ExceptionContext) -> None:
    error = context.sqlalchemy_exception
    if error is not None and _is_useless_after(error):
        context.is_disconnect = True


def _invalidate_if_useless(connection: sa.Connection, error: BaseException) -> None:
    """Have the pool replace a connection of an engine that does not do so by itself."""
    if _is_useless_after(error) and not connection.closed and not connection.invalidated:
        connection.invalidate(error)


def _is_useless_after(error: BaseException) -> bool:
    return is_read_only(error) or _says(error, frozenset(), _TOO_LARGE_CODES)


def _translation_of_driver(error: DBAPIError, table: sa.Table | None) -> OutboxStoreError:
    text = f"{type(error.orig).__name__}: {error.orig}"
    if table is not None and _is_missing(table, error):
        text += f"; there is no table {table.fullname}: create it with the statements of ddl()"
    if _says(error, frozenset(), _TOO_LARGE_CODES):
        return RefusedByDatabaseError(f"{text}; raise max_allowed_packet or store less")
    refused = isinstance(error, _FINAL) and not error.connection_invalidated
    if refused and not (is_conflict(error) or is_read_only(error) or _is_forgotten(error)):
        return RefusedByDatabaseError(text)
    return OutboxStoreError(text)


def _is_forgotten(error: DBAPIError) -> bool:
    diagnosis = getattr(error.orig, "diag", None)
    is_changed = getattr(diagnosis, "source_function", None) == _CHANGED_PLAN
    return is_changed or _says(error, _FORGOTTEN_STATES, frozenset())


def _is_missing(table: sa.Table, error: DBAPIError) -> bool:
    text = str(error.orig)
    is_told = _says(error, _NO_TABLE_STATES, _NO_TABLE_CODES) or "no such table: " in text
    return is_told and table.name in text


def _says(error: BaseException, states: frozenset[str], codes: frozenset[int]) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    original = error.orig
    state = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
    code = original.args[0] if original is not None and original.args else None
    return state in states or (isinstance(code, int) and code in codes)
