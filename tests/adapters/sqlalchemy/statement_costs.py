"""What each statement of an outbox costs and how it is planned, seen as it is executed.

Costs are counted, not timed, on each database in a unit of its own: rows that a plan has looked
at on PostgreSQL, handler reads on MariaDB, steps of the virtual machine on SQLite.
"""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import attrs
import psycopg
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql

SCAN = "(scan)"
PRIMARY = "(primary)"

_READS = "SHOW SESSION STATUS LIKE 'Handler\\_read\\_%'"
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class ICostMeter(Protocol):
    """Looks at one statement at a time, on the connection that executes it."""

    def plan(self, connection: Any, statement: str, parameters: Any) -> set[str]:  # noqa: ANN401  # of the driver
        """Return the indexes by which a statement will find the outbox' rows."""

    def begin(self, connection: Any) -> None:  # noqa: ANN401  # of the driver
        """Begin to count."""

    def cost(self, connection: Any) -> int:  # noqa: ANN401  # of the driver
        """Return what has been counted since."""


@attrs.define
class Costs:
    """What was executed, by the names that statements have in their dialect.

    Attributes:
        most: The cost of the most expensive execution of each.
        indexes: All that were used.
    """

    most: dict[str, int] = attrs.field(factory=lambda: defaultdict(int))
    indexes: dict[str, set[str]] = attrs.field(factory=lambda: defaultdict(set))


@contextmanager
def costs_of(engine: sa.Engine, table: sa.Table, meter: ICostMeter) -> Iterator[Costs]:
    """Collect the costs of what is executed meanwhile, but of INSERTs by ``executemany``."""
    names = _names(outbox_dialect(table, engine.dialect), engine.dialect)
    costs = Costs()

    def before(connection: sa.Connection, *arguments: Any) -> None:  # noqa: ANN401  # of the event
        _, statement, parameters, _, is_many = arguments
        name = names.get(statement)
        if name is not None and not is_many:
            driver_connection = connection.connection.driver_connection
            found = meter.plan(driver_connection, statement, parameters)
            costs.indexes[name] |= {one.removeprefix(f"{table.name}_") for one in found}
            meter.begin(driver_connection)

    def after(connection: sa.Connection, *arguments: Any) -> None:  # noqa: ANN401  # of the event
        _, statement, _, _, is_many = arguments
        name = names.get(statement)
        if name is not None and not is_many:
            cost = meter.cost(connection.connection.driver_connection)
            costs.most[name] = max(costs.most[name], cost)

    sa.event.listen(engine, "before_cursor_execute", before)
    sa.event.listen(engine, "after_cursor_execute", after)
    try:
        yield costs
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)
        sa.event.remove(engine, "after_cursor_execute", after)


def _names(part: Any, dialect: sa.Dialect) -> Mapping[str, str]:  # noqa: ANN401  # of a dialect
    """Return the names of all statements that have a plan, by their text."""
    names: dict[str, str] = {}
    for field in attrs.fields(type(part)):
        value = getattr(part, field.name)
        if isinstance(value, Sql) and field.name != "opening":
            names[value.text_for(dialect)] = field.name.lstrip("_")
        elif attrs.has(type(value)):
            names |= _names(value, dialect)
    return names


@attrs.define
class PostgreSqlMeter:
    """Has each statement explained, with its parameters, and undone before it is executed.

    Attributes:
        plans: ``force_custom_plan``, as for the first executions of a statement, or
            ``force_generic_plan``, which the server may prefer from the sixth on.
    """

    plans: str
    _cost: int = 0

    def plan(
        self, connection: psycopg.Connection[Any], statement: str, parameters: Mapping[str, object]
    ) -> set[str]:
        places: dict[str, str] = {}
        text = _PLACEHOLDER.sub(
            lambda found: places.setdefault(found[1], f"${len(places) + 1}"), statement
        ).replace("%%", "%")
        given = f"({', '.join(['%s'] * len(places))})" if places else ""
        with (
            connection.transaction(force_rollback=True),
            psycopg.ClientCursor(connection) as cursor,
        ):
            cursor.execute(f"SET LOCAL plan_cache_mode = {self.plans}".encode())
            cursor.execute(f"PREPARE explained AS {text}".encode())
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained {given}".encode()
            ((explained,),) = cursor.execute(explain, [parameters[name] for name in places])
            cursor.execute("DEALLOCATE explained")
        scans = list(_scans(explained[0]["Plan"]))
        self._cost = sum(map(_rows_seen, scans))
        return {_index_of(scan) for scan in scans}

    def begin(self, connection: psycopg.Connection[Any]) -> None:
        """Do nothing: the plan has the counts."""

    def cost(self, connection: psycopg.Connection[Any]) -> int:
        return self._cost


def _scans(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "Index Name" in plan or plan["Node Type"] == "Seq Scan":
        yield plan
    for part in plan.get("Plans", ()):
        yield from _scans(part)


def _rows_seen(scan: Mapping[str, Any]) -> int:
    seen = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    return int(sum(scan.get(key, 0) for key in seen) * scan["Actual Loops"])


def _index_of(scan: Mapping[str, Any]) -> str:
    name: str = scan.get("Index Name", SCAN)
    return PRIMARY if name.endswith("_pkey") else name


@attrs.define
class MariaDbMeter:
    """Asks for the plan before a statement, and counts the session's reads around it."""

    _before: int = 0

    def plan(self, connection: Any, statement: str, parameters: Any) -> set[str]:  # noqa: ANN401  # of PyMySQL
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}", parameters)
            columns = [column[0] for column in cursor.description]
            rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        keys = {row["key"] or SCAN for row in rows if row["table"] in {"o", "p", "f", "d"}}
        return {PRIMARY if key == "PRIMARY" else key for key in keys}

    def begin(self, connection: Any) -> None:  # noqa: ANN401  # of PyMySQL
        self._before = _reads(connection)

    def cost(self, connection: Any) -> int:  # noqa: ANN401  # of PyMySQL
        return _reads(connection) - self._before


def _reads(connection: Any) -> int:  # noqa: ANN401  # of PyMySQL
    with connection.cursor() as cursor:
        cursor.execute(_READS)
        return sum(int(value) for _, value in cursor.fetchall())


@attrs.define
class SqliteMeter:
    """Asks for the plan before a statement, and counts the steps of its execution."""

    _steps: int = 0

    def plan(self, connection: sqlite3.Connection, statement: str, parameters: Any) -> set[str]:  # noqa: ANN401  # of the driver
        lines = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        return set(filter(None, (_sqlite_index(line[3]) for line in lines)))

    def begin(self, connection: sqlite3.Connection) -> None:
        self._steps = 0
        connection.set_progress_handler(self._count, 1)

    def cost(self, connection: sqlite3.Connection) -> int:
        connection.set_progress_handler(None, 1)
        return self._steps

    def _count(self) -> int:
        self._steps += 1
        return 0


def _sqlite_index(line: str) -> str | None:
    """Return the index by which a line of a plan finds rows of the outbox, if it is about them."""
    words = line.split()
    if words[0] not in {"SCAN", "SEARCH"} or words[1] not in {"o", "p", "f", "d"}:
        return None
    if "PRIMARY" in words:
        return PRIMARY
    return words[words.index("INDEX") + 1] if "INDEX" in words else SCAN
