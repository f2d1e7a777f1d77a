"""An INSERT and the COMMIT after it in one round trip, where the driver has a pipeline: psycopg.

What has not been prepared yet goes this way, and is prepared by it; then see ``PreparedCommit``.

    INSERT, COMMIT ──▶ the server works them off in order ──▶ both answers

When the INSERT fails, the server passes over the COMMIT and the transaction is left failed, as if
the two had been sent one after the other. See ADR 0014, and "Pipeline mode support" in the
documentation of psycopg.
"""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

Row = Sequence[Any]


def has_pipeline(connection: sa.Connection) -> bool:
    """Say whether a connection can do it, unseen by none who listens to its statements.

    SQLAlchemy has no public names for who does. A version of it without the present ones, or
    anybody who listens to or logs what an engine executes, is given two round trips.
    """
    dialect = connection.dialect
    if dialect.driver != "psycopg" or dialect.is_async:
        return False
    is_watched = (
        getattr(connection, "_has_events", True)
        or getattr(connection.engine, "_has_events", True)
        or getattr(connection, "_echo", True)
    )
    return not is_watched and _is_supported(dialect.loaded_dbapi)  # type: ignore[arg-type]


def execute_and_commit(connection: sa.Connection, text: str, parameters: object) -> Sequence[Row]:
    """Execute a statement that returns rows, and commit; return its rows.

    Raises:
        sqlalchemy.exc.DBAPIError: The statement was refused; the transaction has failed.
        psycopg.Error: The COMMIT was refused, or the connection is lost: as for any COMMIT, then
            nobody knows whether there was one.
    """
    driver_connection: Any = connection.connection.driver_connection
    driver: Any = connection.dialect.loaded_dbapi
    statement, commit = driver_connection.cursor(), driver_connection.cursor()
    try:
        with driver_connection.pipeline():
            statement.execute(text, parameters)
            commit.execute("COMMIT", prepare=False)
    except BaseException as error:
        if _is_left_busy(driver, driver_connection):
            driver_connection.close()  # nobody knows what of it the server has done, or will do
            raise _first_of(error) from None
        is_refusal = isinstance(error, driver.Error) and statement.pgresult is None
        if not is_refusal or driver_connection.closed:
            raise
        # Without the parameters: what an event says is nobody's business.
        raise DBAPIError.instance(text, None, error, driver.Error) from error
    rows: Sequence[Row] = statement.fetchall()
    return rows


def _is_left_busy(driver: Any, driver_connection: Any) -> bool:  # noqa: ANN401
    """Say whether psycopg has left the pipeline, as Ctrl-C may have it do, before the answers."""
    libpq = driver_connection.pgconn
    if libpq.status != driver.pq.ConnStatus.OK:
        return False  # lost
    is_active = libpq.transaction_status == driver.pq.TransactionStatus.ACTIVE
    return is_active or bool(libpq.pipeline_status)


def _first_of(error: BaseException) -> BaseException:
    """Return the Ctrl-C that made psycopg raise an error, or the error."""
    first: BaseException | None = error
    while isinstance(first, Exception):
        first = first.__context__
    return first or error


@functools.cache
def _is_supported(driver: ModuleType) -> bool:
    """Say whether psycopg's libpq is of version 14 or newer."""
    pipeline: Any = getattr(driver, "Pipeline", None)
    return pipeline is not None and pipeline.is_supported()
