"""How rows are born in PostgreSQL: reserved and inserted in one statement.

``clock_timestamp()``, never ``now()``: see the dialect.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.dialects.insert_parameters import insert_parameters, reserved
from pragmatic_ddd_sqlalchemy.dialects.postgresql.pipelined_commit import (
    execute_and_commit,
    has_pipeline,
)
from pragmatic_ddd_sqlalchemy.dialects.postgresql.prepared_commit import prepared_commit
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import named, names_of

# A scalar subquery is probed row by row; EXISTS might become a hash over all unsent rows.
# Above READ COMMITTED it is not evaluated at all. At REPEATABLE READ the snapshot may be older
# than the lock on an aggregate that is inserted again: its deletion, and what that has raised,
# would be missed. At SERIALIZABLE reading it costs false conflicts.
_INSERT = """
INSERT INTO {outbox} (message_id, aggregate_type, aggregate_id, aggregate_version, event_index,
    event_type, event_version, payload, headers, status, attempts, failures, due_at,
    claim_token, claimed_at, created_at)
SELECT n.message_id, n.aggregate_type, n.aggregate_id, n.aggregate_version, n.event_index,
    n.event_type, n.event_version, n.payload, n.headers, 'PENDING', 0, 0,
    CASE WHEN n.owned THEN n.clock + make_interval(secs => CAST(:grace AS float)) ELSE n.clock END,
    CASE WHEN n.owned THEN CAST(:claim_token AS text) END,
    CASE WHEN n.owned THEN n.clock END,
    n.clock
FROM (
    SELECT b.*, clock_timestamp() AS clock,
        CASE WHEN b.ownable AND current_setting('transaction_isolation') LIKE 'read %'
        THEN (
            SELECT p.id FROM {outbox} AS p
            WHERE p.aggregate_type = ANY (ARRAY[b.aggregate_type])
                AND p.aggregate_id = b.aggregate_id
                AND p.status NOT IN ('SENT', 'SKIPPED')
                AND p.claim_token IS DISTINCT FROM CAST(:claim_token AS text)
            ORDER BY p.aggregate_type, p.aggregate_id, p.id LIMIT 1
        ) IS NULL ELSE false END AS owned
    FROM {rows} AS b
    ORDER BY b.place
) AS n
RETURNING message_id, id, claim_token IS NOT NULL AS owned
"""

_COLUMNS = {
    "message_id": "text",
    "aggregate_type": "text",
    "aggregate_id": "text",
    "aggregate_version": "bigint",
    "event_index": "integer",
    "event_type": "text",
    "event_version": "integer",
    "payload": "text",
    "headers": "text",
}
_TYPED = tuple(_COLUMNS.items())
_NUMBERS = tuple(name for name, kind in _TYPED if kind != "text")
_MANY_ROWS = f"""(
    SELECT * FROM json_to_recordset(CAST(:batch AS json))
        AS b (place integer, ownable boolean,
            {", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())})
)"""  # noqa: S608  # of the names above
# What most transactions store: one event needs no JSON to be read, and comes without a token where
# it may not be owned. Numbers travel as text: for each of them the driver would choose a type.
_ONE_ROW = f"""(
    SELECT 0 AS place, CAST(:claim_token AS text) IS NOT NULL AS ownable,
        {", ".join(f"CAST(CAST(:{name} AS text) AS {kind}) AS {name}" for name, kind in _TYPED)}
)"""


@attrs.frozen(kw_only=True)
class PostgreSqlInsert:
    """Inserts rows of one table."""

    _insert_many: Sql
    _insert_one: Sql

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        names = names_of(table, dialect)
        return cls(
            insert_many=named(_INSERT, {"rows": _MANY_ROWS} | names),
            insert_one=named(_INSERT, {"rows": _ONE_ROW} | names),
        )

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        """Insert rows in the given order; see ``IOutboxDialect.insert``."""
        sql, parameters = self._statement(rows, reservation)
        return _inserted(sql.execute(connection, parameters).all())

    def can_commit(self, connection: sa.Connection) -> bool:
        """Say whether ``insert_and_commit`` can be used on a connection."""
        return has_pipeline(connection)

    def insert_and_commit(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        """Do what ``insert`` does, and commit; see ``execute_and_commit``."""
        sql, parameters = self._statement(rows, reservation)
        text = sql.text_for(connection.dialect)
        prepared = prepared_commit(text)
        name = prepared.name_on(connection)
        values = None if name is None else prepared.values_of(parameters)
        if name is None or values is None:
            return _inserted(execute_and_commit(connection, text, parameters))
        return _inserted(prepared.execute(connection, name, values))

    def _statement(
        self, rows: Sequence[dict[str, Any]], reservation: Reservation | None
    ) -> tuple[Sql, dict[str, Any]]:
        if len(rows) > 1:
            return self._insert_many, insert_parameters(rows, reservation)
        (row,) = rows
        may_be_owned = row["aggregate_version"] is not None  # see ``ownable``
        parameters = row | reserved(reservation if may_be_owned else None)
        for name in _NUMBERS:
            value = parameters[name]
            parameters[name] = None if value is None else str(value)
        return self._insert_one, parameters


def _inserted(returned: Iterable[Sequence[Any]]) -> dict[str, Inserted]:
    return {message_id: Inserted(id=row_id, owned=owned) for message_id, row_id, owned in returned}
