"""The outbox in PostgreSQL.

``clock_timestamp()``, never ``now()``: a transaction that has waited for an aggregate's lock
began before the one that it waited for. Where it stands in a subquery it is read once, and the
partial index on the due time is read as a range.
"""

from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked
from pragmatic_ddd_sqlalchemy.dialects.postgresql.insert import PostgreSqlInsert
from pragmatic_ddd_sqlalchemy.dialects.postgresql.statements import FRAGMENTS, STATEMENTS
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements, named, names_of, prepared
from pragmatic_ddd_sqlalchemy.rows import Row, as_json

_TAKE = """
WITH mine AS MATERIALIZED (
    SELECT m.id, m.aggregate_type, m.aggregate_id FROM {outbox} AS m
    WHERE m.id = ANY (CAST(:ids AS bigint[]))
), gaps AS MATERIALIZED (
    SELECT a.aggregate_type, a.aggregate_id, (
        SELECT p.id FROM {outbox} AS p
        WHERE p.aggregate_type = ANY (ARRAY[a.aggregate_type])
            AND p.aggregate_id = a.aggregate_id
            AND p.id < a.top AND p.status NOT IN ('SENT', 'SKIPPED')
            AND p.claim_token IS DISTINCT FROM CAST(:confirmed AS text)
            AND p.id NOT IN (SELECT mine.id FROM mine)
        ORDER BY p.aggregate_type, p.aggregate_id, p.id LIMIT 1
    ) AS id
    FROM (
        SELECT mine.aggregate_type, mine.aggregate_id, max(mine.id) AS top
        FROM mine GROUP BY mine.aggregate_type, mine.aggregate_id
    ) AS a
)
UPDATE {outbox} AS o
SET status = 'PROCESSING', claim_token = CAST(:claim_token AS text),
    claimed_at = clock_timestamp(),
    due_at = clock_timestamp() + make_interval(secs => CAST(:lease AS float)),
    attempts = o.attempts
        + CASE WHEN o.status = 'PROCESSING' OR o.claim_token IS NOT NULL THEN 1 ELSE 0 END
FROM mine JOIN gaps
    ON gaps.aggregate_type = mine.aggregate_type AND gaps.aggregate_id = mine.aggregate_id
WHERE o.id = mine.id AND (gaps.id IS NULL OR mine.id < gaps.id)
RETURNING {claimed_columns}
"""

_PARK_TAILS = """
WITH tail AS MATERIALIZED (
    SELECT o.id FROM {outbox} AS f
    JOIN {outbox} AS o ON o.aggregate_type = f.aggregate_type
        AND o.aggregate_id = f.aggregate_id AND o.id > f.id
    WHERE f.id = ANY (ARRAY({ids})) AND f.status = 'FAILED'
        AND o.status NOT IN ('SENT', 'SKIPPED') AND {waits}
    FOR UPDATE OF o SKIP LOCKED
)
UPDATE {outbox} AS o SET due_at = {parked_until}
WHERE o.id = ANY (ARRAY(SELECT tail.id FROM tail))
"""


@attrs.frozen(kw_only=True)
class PostgreSqlDialect:
    """The SQL for one table in PostgreSQL."""

    statements: Statements[Sql]
    isolation_level: str | None = "READ COMMITTED"
    opening: Sql | None = None
    settles_beside_claims: bool = True
    oldest_server: str = "PostgreSQL 12 (AS MATERIALIZED)"
    committing_insert: PostgreSqlInsert
    _take: Sql
    _park_tails: Sql

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        names = FRAGMENTS | names_of(table, dialect)
        return cls(
            statements=prepared(STATEMENTS, names),
            committing_insert=PostgreSqlInsert.for_table(table, dialect),
            take=named(_TAKE, names),
            park_tails=named(_PARK_TAILS, names),
        )

    def serves(self, dialect: sa.Dialect) -> bool:
        return (dialect.server_version_info or ()) >= (12,)

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        return self.committing_insert.insert(connection, rows, reservation)

    def take(
        self,
        connection: sa.Connection,
        locked: Locked,
        *,
        claim_token: str,
        lease_seconds: float,
        confirmed_token: str,
    ) -> Sequence[Row]:
        parameters = {
            "ids": f"{{{','.join(str(row.id) for row in locked.rows)}}}",
            "claim_token": claim_token,
            "lease": lease_seconds,
            "confirmed": confirmed_token,
        }
        return self._take.execute(connection, parameters).all()

    def park_tails(self, connection: sa.Connection, ids: Sequence[int]) -> None:
        self._park_tails.execute(connection, {"batch": as_json(ids)})
