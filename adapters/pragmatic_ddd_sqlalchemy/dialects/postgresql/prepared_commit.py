"""A prepared INSERT and the COMMIT after it, given to libpq at once and without cursors.

    bind and execute, COMMIT, sync ──▶ the server works them off in order ──▶ three results

It is what psycopg does for two cursors in a pipeline, in a third of the processor time: it need
not choose a type for each parameter, nor keep account of whose each result is. psycopg still
prepares the statement, and decides whether it may be used: it forgets its statements whenever the
server might have. See ADR 0022.
"""

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

Row = tuple[str, int, bool]

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_NUL = b"\0"
_ENCODING = "utf-8"
_CLIENT_ENCODING = b"UTF8"  # as the server calls it
_ANSWERS = 3
_WRITERS: Mapping[type, Callable[[Any], bytes | None]] = {
    str: str.encode,
    float: lambda value: repr(value).encode(),
    type(None): lambda _: None,
}


@attrs.frozen
class PreparedCommit:
    """One statement, which returns a text, a whole number and a truth for each row.

    Attributes:
        text: With the placeholders of psycopg, ``%(name)s``.
        query: As the server has it.
        names: The parameters in the order of their numbers there.
    """

    text: str
    query: bytes
    names: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """Number the parameters of a statement as psycopg does."""
        names = dict.fromkeys(_PLACEHOLDER.findall(text))
        numbers = {name: number for number, name in enumerate(names, 1)}
        query = _PLACEHOLDER.sub(lambda found: f"${numbers[found[1]]}", text).replace("%%", "%")
        return cls(text=text, query=query.encode(_ENCODING), names=tuple(names))

    def name_on(self, connection: sa.Connection) -> bytes | None:
        """Return as what psycopg has prepared it there; ``None``: a cursor is to execute it.

        psycopg has no public name for its statements. A version without the present one is given
        the statement through a cursor each time.
        """
        driver_connection: Any = connection.connection.driver_connection
        libpq, driver = driver_connection.pgconn, connection.dialect.loaded_dbapi
        prepared = getattr(getattr(driver_connection, "_prepared", None), "_names", None)
        if (
            not isinstance(prepared, OrderedDict)
            or driver_connection.prepare_threshold is None
            or libpq.parameter_status(b"client_encoding") != _CLIENT_ENCODING  # a session's own
            # Otherwise a cursor begins one, as the connection says: its isolation, read only.
            or libpq.transaction_status != driver.pq.TransactionStatus.INTRANS
            or libpq.pipeline_status
        ):
            return None
        key = next((key for key in reversed(prepared) if key[0] == self.query), None)
        if key is None:
            return None
        prepared.move_to_end(key)  # used: psycopg lets go of what was not for longest
        name: bytes = prepared[key]
        return name

    def values_of(self, parameters: Mapping[str, object]) -> list[bytes | None] | None:
        """Return parameters as the protocol has them; ``None``: a cursor is to say how, or refuse.

        Of a class derived from ``str`` only psycopg knows what it makes of it.
        """
        found = [parameters[name] for name in self.names]
        try:
            values = [_WRITERS[type(value)](value) for value in found]
        except (KeyError, UnicodeEncodeError):  # an odd class, half a surrogate
            return None
        return None if _NUL in b"".join(filter(None, values)) else values

    def execute(
        self, connection: sa.Connection, name: bytes, values: Sequence[bytes | None]
    ) -> list[Row]:
        """Execute it, and commit; return its rows.

        Raises:
            sqlalchemy.exc.DBAPIError: The statement was refused; the transaction has failed.
            psycopg.Error: As for ``execute_and_commit``.
        """
        driver_connection: Any = connection.connection.driver_connection
        driver: Any = connection.dialect.loaded_dbapi
        inserted, *others = _results_of(driver, driver_connection, name, values)
        if inserted.status != driver.pq.ExecStatus.TUPLES_OK:
            error = driver.errors.error_from_result(inserted, encoding=_ENCODING)
            if driver_connection.closed:
                raise error
            # Without the parameters: what an event says is nobody's business.
            raise DBAPIError.instance(self.text, None, error, driver.Error) from error
        committed = others[0]
        if committed.status != driver.pq.ExecStatus.COMMAND_OK:
            raise driver.errors.error_from_result(committed, encoding=_ENCODING)
        return [_row(inserted, number) for number in range(inserted.ntuples)]


prepared_commit = functools.cache(PreparedCommit.of)


def _results_of(
    driver: Any,  # noqa: ANN401  # a module
    driver_connection: Any,  # noqa: ANN401  # psycopg's
    name: bytes,
    values: Sequence[bytes | None],
) -> list[Any]:
    """Return the results of the statement, of the COMMIT and of the sync.

    Returns:
        All of them; the first one at least, where that is an error.

    Raises:
        psycopg.Error: The connection is lost.
    """
    libpq, fetch = driver_connection.pgconn, driver.generators.fetch_many

    def answers() -> Generator[Any, Any, list[Any]]:
        yield from driver.generators.send(libpq)
        results: list[Any] = []
        while len(results) < _ANSWERS and libpq.status == driver.pq.ConnStatus.OK:
            some = yield from fetch(libpq)
            if not some:
                break
            results += some
        return results

    with driver_connection.lock:
        libpq.enter_pipeline_mode()
        try:
            libpq.send_query_prepared(name, values)
            libpq.send_query_params(b"COMMIT", None)
            libpq.pipeline_sync()
            results: list[Any] = driver_connection.wait(answers())
        finally:
            _leave(driver, driver_connection)
    if len(results) < _ANSWERS:
        driver_connection.close()
    if not results or (len(results) == 1 and results[0].status == driver.pq.ExecStatus.TUPLES_OK):
        raise driver.OperationalError("the connection is lost: nobody knows whether it committed")
    return results


def _leave(driver: Any, driver_connection: Any) -> None:  # noqa: ANN401
    """Leave the pipeline mode; a connection that cannot, because results are missing, is closed."""
    libpq = driver_connection.pgconn
    if libpq.status != driver.pq.ConnStatus.OK:
        return  # lost
    try:
        libpq.exit_pipeline_mode()
    except driver.Error:
        driver_connection.close()


def _row(result: Any, number: int) -> Row:  # noqa: ANN401
    text, row_id, truth = (result.get_value(number, column) for column in range(3))
    return text.decode(_ENCODING), int(row_id), truth == b"t"
