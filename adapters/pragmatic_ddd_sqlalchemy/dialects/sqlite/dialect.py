"""The outbox in SQLite.

There is one writer at a time, so nothing is ever locked by somebody else. Times are text in
UTC, with the milliseconds that SQLite's clock has, written like SQLAlchemy's DateTime.
"""

from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.dialects.insert_parameters import insert_parameters
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked, aggregates_json
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.sqlite.statements import FRAGMENTS, STATEMENTS
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements, named, names_of, prepared
from pragmatic_ddd_sqlalchemy.rows import CLAIMED_COLUMNS, Row, as_json

# CASE, because AND would look for an older row in any case.
_INSERT = """
INSERT INTO {outbox} (message_id, aggregate_type, aggregate_id, aggregate_version, event_index,
    event_type, event_version, payload, headers, status, attempts, failures, due_at,
    claim_token, claimed_at, created_at)
SELECT n.message_id, n.aggregate_type, n.aggregate_id, n.aggregate_version, n.event_index,
    n.event_type, n.event_version, n.payload, n.headers, 'PENDING', 0, 0,
    CASE WHEN n.owned
        THEN strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', :grace)) || '000'
        ELSE {now} END,
    CASE WHEN n.owned THEN :claim_token END,
    CASE WHEN n.owned THEN {now} END,
    {now}
FROM (
    SELECT b.*, CASE WHEN b.ownable THEN (
            SELECT p.id FROM {outbox} AS p
            WHERE p.aggregate_type = b.aggregate_type AND p.aggregate_id = b.aggregate_id
                AND p.status NOT IN ('SENT', 'SKIPPED') AND p.claim_token IS NOT :claim_token
            LIMIT 1
        ) IS NULL ELSE 0 END AS owned
    FROM (
        SELECT key AS place, json_extract(value, '$.ownable') AS ownable,
            json_extract(value, '$.message_id') AS message_id,
            json_extract(value, '$.aggregate_type') AS aggregate_type,
            json_extract(value, '$.aggregate_id') AS aggregate_id,
            json_extract(value, '$.aggregate_version') AS aggregate_version,
            json_extract(value, '$.event_index') AS event_index,
            json_extract(value, '$.event_type') AS event_type,
            json_extract(value, '$.event_version') AS event_version,
            json_extract(value, '$.payload') AS payload,
            json_extract(value, '$.headers') AS headers
        FROM json_each(:batch)
    ) AS b
) AS n
ORDER BY n.place
RETURNING message_id, id, claim_token
"""

_TAKE = """
WITH mine (id, place) AS MATERIALIZED (
    SELECT json_extract(value, '$.id'), json_extract(value, '$.place') FROM json_each(:batch)
), aggregates (place, aggregate_type, aggregate_id, top) AS MATERIALIZED (
    SELECT json_extract(value, '$.place'), json_extract(value, '$.aggregate_type'),
        json_extract(value, '$.aggregate_id'), json_extract(value, '$.top')
    FROM json_each(:aggregates)
), gaps (place, id) AS MATERIALIZED (
    SELECT a.place, (
        SELECT p.id FROM {outbox} AS p
        WHERE p.aggregate_type = a.aggregate_type AND p.aggregate_id = a.aggregate_id
            AND p.id < a.top AND p.status NOT IN ('SENT', 'SKIPPED')
            AND p.claim_token IS NOT :confirmed
            AND p.id NOT IN (SELECT mine.id FROM mine)
        ORDER BY p.id LIMIT 1
    )
    FROM aggregates AS a
)
UPDATE {outbox} AS o
SET status = 'PROCESSING', claim_token = :claim_token, claimed_at = {now},
    due_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', :lease)) || '000',
    attempts = o.attempts + (o.status = 'PROCESSING' OR o.claim_token IS NOT NULL)
FROM mine JOIN gaps ON gaps.place = mine.place
WHERE o.id = mine.id AND (gaps.id IS NULL OR mine.id < gaps.id)
RETURNING {returned_columns}
"""

_PARK_TAILS = """
UPDATE {outbox} AS o SET due_at = {parked_until}
WHERE o.id IN (
    SELECT o.id FROM {outbox} AS f
    JOIN {outbox} AS o ON o.aggregate_type = f.aggregate_type
        AND o.aggregate_id = f.aggregate_id AND o.id > f.id
    WHERE f.id IN ({ids}) AND f.status = 'FAILED'
        AND o.status NOT IN ('SENT', 'SKIPPED') AND {waits}
)
"""


@attrs.frozen(kw_only=True)
class SqliteDialect:
    """The SQL for one table in SQLite."""

    statements: Statements[Sql]
    isolation_level: str | None = None
    opening: Sql | None = None
    settles_beside_claims: bool = False  # there is one writer
    oldest_server: str = "SQLite 3.35 (UPDATE … FROM … RETURNING)"
    committing_insert: None = None
    _insert: Sql
    _take: Sql
    _park_tails: Sql

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        # RETURNING knows no alias.
        returned = {"returned_columns": ", ".join(CLAIMED_COLUMNS)}
        names = FRAGMENTS | returned | names_of(table, dialect)
        return cls(
            statements=prepared(STATEMENTS, names),
            insert=named(_INSERT, names),
            take=named(_TAKE, names),
            park_tails=named(_PARK_TAILS, names),
        )

    def serves(self, dialect: sa.Dialect) -> bool:
        return (dialect.server_version_info or ()) >= (3, 35)

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        inserted = self._insert.execute(connection, insert_parameters(rows, reservation))
        # Not RETURNING claim_token IS NOT NULL: SQLite 3.40 says 1 for a NULL that was selected.
        return {
            row.message_id: Inserted(id=row.id, owned=row.claim_token is not None)
            for row in inserted
        }

    def take(
        self,
        connection: sa.Connection,
        locked: Locked,
        *,
        claim_token: str,
        lease_seconds: float,
        confirmed_token: str,
    ) -> Sequence[Row]:
        placed = zip(locked.rows, locked.places, strict=True)
        parameters = {
            "batch": as_json([{"id": row.id, "place": place} for row, place in placed]),
            "aggregates": aggregates_json(locked),
            "claim_token": claim_token,
            "lease": lease_seconds,
            "confirmed": confirmed_token,
        }
        return self._take.execute(connection, parameters).all()

    def park_tails(self, connection: sa.Connection, ids: Sequence[int]) -> None:
        self._park_tails.execute(connection, {"batch": as_json(ids)})
