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
    driver_error = connection.dialect.loaded_dbapi.Error
    statement, commit = driver_connection.cursor(), driver_connection.cursor()
    try:
        with driver_connection.pipeline():
            statement.execute(text, parameters)
            commit.execute("COMMIT", prepare=False)
    except driver_error as error:
        if statement.pgresult is not None or driver_connection.closed:
            raise
        # Without the parameters: what an event says is nobody's business.
        raise DBAPIError.instance(text, None, error, driver_error) from error
    rows: Sequence[Row] = statement.fetchall()
    return rows


@functools.cache
def _is_supported(driver: ModuleType) -> bool:
    """Say whether psycopg's libpq is of version 14 or newer."""
    pipeline: Any = getattr(driver, "Pipeline", None)
    return pipeline is not None and pipeline.is_supported()
