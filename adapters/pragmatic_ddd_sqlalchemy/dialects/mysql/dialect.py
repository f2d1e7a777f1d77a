"""The outbox in MySQL and MariaDB.

``UTC_TIMESTAMP(6)``: NOW and SYSDATE follow the session's time zone. Every batch is read from
JSON first and the outbox second, by a forced index: whatever else the optimizer might choose
(it scans small tables) would lock rows, or wait for rows, that the statement is not about.

One statement cannot both verify and mark here, and neither returns rows: the SELECT that locks
reads whole rows, a plain SELECT looks for the oldest unsent row that is not among them (at READ
COMMITTED each statement has a snapshot of its own), and an UPDATE by primary key marks.
"""

from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked, LockedRow, aggregates_json
from pragmatic_ddd_sqlalchemy.dialects.mysql.insert import MySqlInsert, is_mariadb
from pragmatic_ddd_sqlalchemy.dialects.mysql.statements import FRAGMENTS, STATEMENTS
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements, named, names_of, prepared
from pragmatic_ddd_sqlalchemy.rows import Row, as_json

_OPENING = Sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")

_GAPS = """
SELECT a.place, (
    SELECT p.id FROM {outbox} AS p FORCE INDEX ({unsent})
    WHERE p.unsent = 1 AND p.aggregate_type = a.aggregate_type
        AND p.aggregate_id = a.aggregate_id AND p.id < a.top
        AND NOT (p.claim_token <=> :confirmed)
        AND p.id NOT IN (
            SELECT m.id FROM JSON_TABLE(:batch, '$[*]' COLUMNS (id BIGINT PATH '$')) AS m)
    ORDER BY p.id LIMIT 1
) AS id
FROM {aggregates}
"""

_MARK = """
UPDATE {ids} {by_id}
SET o.attempts = o.attempts + (o.status = 'PROCESSING' OR o.claim_token IS NOT NULL),
    o.claim_token = :claim_token, o.claimed_at = UTC_TIMESTAMP(6),
    o.due_at = UTC_TIMESTAMP(6) + INTERVAL :lease SECOND, o.status = 'PROCESSING'
"""

_LOCK_TAILS = """
SELECT o.id
FROM {ids} STRAIGHT_JOIN {outbox} AS f FORCE INDEX (PRIMARY) ON f.id = b.id
STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({unsent}) ON o.unsent = 1
    AND o.aggregate_type = f.aggregate_type AND o.aggregate_id = f.aggregate_id AND o.id > f.id
WHERE f.status = 'FAILED' AND {waits}
FOR UPDATE SKIP LOCKED
"""


@attrs.frozen(kw_only=True)
class MySqlDialect:
    """The SQL for one table in MySQL or MariaDB."""

    statements: Statements[Sql]
    # For one transaction. For the connection it would have to be taken back afterwards, with two
    # words more: a server that is lost in between is never given back to SQLAlchemy's pool.
    isolation_level: str | None = None
    opening: Sql | None = _OPENING
    settles_beside_claims: bool = True
    oldest_server: str = "MySQL 8.0.4 or MariaDB 10.6 (SKIP LOCKED, JSON_TABLE)"
    committing_insert: None = None
    _insert: MySqlInsert
    _gaps: Sql
    _mark: Sql
    _lock_tails: Sql

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        names = FRAGMENTS | names_of(table, dialect)
        return cls(
            statements=prepared(STATEMENTS, names),
            insert=MySqlInsert.for_table(table, dialect),
            gaps=named(_GAPS, names),
            mark=named(_MARK, names),
            lock_tails=named(_LOCK_TAILS, names),
        )

    def serves(self, dialect: sa.Dialect) -> bool:
        oldest = (10, 6) if is_mariadb(dialect) else (8, 0, 4)
        return (dialect.server_version_info or ()) >= oldest

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        return self._insert.insert(connection, rows, reservation)

    def take(
        self,
        connection: sa.Connection,
        locked: Locked,
        *,
        claim_token: str,
        lease_seconds: float,
        confirmed_token: str,
    ) -> Sequence[Row]:
        gaps = self._gaps.execute(
            connection,
            {
                "batch": as_json([row.id for row in locked.rows]),
                "aggregates": aggregates_json(locked),
                "confirmed": confirmed_token,
            },
        )
        first_gap = {gap.place: gap.id for gap in gaps if gap.id is not None}
        taken = [
            row
            for row, place in zip(locked.rows, locked.places, strict=True)
            if place not in first_gap or row.id < first_gap[place]
        ]
        if taken:
            self._mark.execute(
                connection,
                {
                    "batch": as_json([row.id for row in taken]),
                    "claim_token": claim_token,
                    "lease": lease_seconds,
                },
            )
        return [_as_marked(row) for row in taken]

    def park_tails(self, connection: sa.Connection, ids: Sequence[int]) -> None:
        tail = self._lock_tails.execute(connection, {"batch": as_json(ids)}).scalars().all()
        if tail:
            self.statements.park.execute(connection, {"batch": as_json(sorted(tail))})


def _as_marked(row: LockedRow) -> Row:
    row_id, attempts, *rest = row.claimed
    return [row_id, attempts + row.lapsed, *rest]
