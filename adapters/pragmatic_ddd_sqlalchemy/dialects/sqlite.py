"""The outbox in SQLite.

There is one writer at a time, so nothing is ever locked by somebody else. Times are text in
UTC, with the milliseconds that SQLite's clock has, written like SQLAlchemy's DateTime.
"""

from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked, aggregates_json
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import (
    Inserted,
    Statements,
    insert_parameters,
    named,
    names_of,
    prepared,
)
from pragmatic_ddd_sqlalchemy.rows import CLAIMED_COLUMNS, Row, as_json

# What stands in several statements in the same words; later ones may stand in earlier ones.
_FRAGMENTS = {
    "parked_until": """strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', min(3600.0,
        max(60.0, (julianday('now') - julianday(o.created_at)) * 86400.0)))) || '000'""",
    # A second: what differs by less is no step, but a moment between two readings.
    "ahead": """(o.claimed_at > {soon}
    OR (o.claim_token IS NULL AND o.failures = 0 AND o.created_at > {soon}))""",
    "soon": "(strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 seconds') || '000')",
    "parked": """(
    SELECT json_extract(value, '$.aggregate_type') AS aggregate_type,
        json_extract(value, '$.aggregate_id') AS aggregate_id
    FROM json_each(:batch)
) AS b
JOIN {outbox} AS o ON o.aggregate_type = b.aggregate_type AND o.aggregate_id = b.aggregate_id
WHERE o.status NOT IN ('SENT', 'SKIPPED') AND {waits} AND o.due_at > {now}""",
    "now": "(strftime('%Y-%m-%d %H:%M:%f', 'now') || '000')",
    "ids": "SELECT value FROM json_each(:batch)",
    "id_and_token": """(
    SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.claim_token') AS claim_token
    FROM json_each(:batch)
) AS b""",
    "failed_tries": """(
    SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.claim_token') AS claim_token,
        json_extract(value, '$.error') AS error, json_extract(value, '$.counted') AS counted,
        json_extract(value, '$.retry_in') AS retry_in
    FROM json_each(:batch)
) AS b""",
    "waits": "o.status = 'PENDING' AND o.claim_token IS NULL AND o.failures = 0",
}

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

_STATEMENTS = Statements(
    lock_due="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at,
    o.status = 'PROCESSING' OR o.claim_token IS NOT NULL AS lapsed, o.attempts > 0 AS tried
FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at <= {now}
    AND o.claim_token IS NOT :confirmed
    AND (
        SELECT p.id FROM {outbox} AS p INDEXED BY {hindered}
        WHERE p.aggregate_type = o.aggregate_type AND p.aggregate_id = o.aggregate_id
            AND p.id < o.id AND p.status NOT IN ('SENT', 'SKIPPED')
            AND (p.status <> 'PENDING' OR p.failures > 0 OR p.claim_token IS NOT NULL)
            AND p.claim_token IS NOT :confirmed
        LIMIT 1
    ) IS NULL
ORDER BY o.due_at, o.id LIMIT :limit
""",
    lock_ids="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at, 0 AS lapsed, 0 AS tried
FROM {outbox} AS o WHERE o.id IN ({ids}) AND {waits}
ORDER BY o.id
""",
    unclaimed="SELECT o.id FROM {outbox} AS o WHERE o.id IN ({ids}) AND {waits}",
    lock_stragglers="""
SELECT o.id, a.due_at
FROM (
    SELECT json_extract(value, '$.aggregate_type') AS aggregate_type,
        json_extract(value, '$.aggregate_id') AS aggregate_id,
        json_extract(value, '$.top') AS top, json_extract(value, '$.due_at') AS due_at
    FROM json_each(:aggregates)
) AS a
JOIN {outbox} AS o ON o.aggregate_type = a.aggregate_type AND o.aggregate_id = a.aggregate_id
WHERE o.status NOT IN ('SENT', 'SKIPPED') AND o.id < a.top AND {waits} AND o.due_at > a.due_at
ORDER BY o.id LIMIT :limit
""",
    move_due="""
UPDATE {outbox} AS o SET due_at = b.due_at
FROM (
    SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.due_at') AS due_at
    FROM json_each(:batch)
) AS b
WHERE o.id = b.id
""",
    mark_sent="""
UPDATE {outbox} AS o
SET status = 'SENT', sent_at = COALESCE(o.sent_at, {now}),
    receipt = CASE WHEN o.status = 'SENT' THEN o.receipt ELSE b.receipt END
FROM (
    SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.claim_token') AS claim_token,
        json_extract(value, '$.receipt') AS receipt
    FROM json_each(:batch)
) AS b
WHERE o.id = b.id AND o.claim_token = b.claim_token
    AND o.status IN ('PENDING', 'PROCESSING', 'SENT')
""",
    release="""
UPDATE {outbox} AS o
SET status = 'PENDING', claim_token = NULL, due_at = min(o.created_at, {now})
FROM {id_and_token}
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    retry_later="""
UPDATE {outbox} AS o
SET status = 'PENDING', claim_token = NULL, attempts = o.attempts + b.counted,
    failures = o.failures + 1, last_error = b.error,
    due_at = strftime('%Y-%m-%d %H:%M:%f', 'now',
        printf('%+.6f seconds', min(b.retry_in, :horizon))) || '000'
FROM {failed_tries}
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    mark_failed="""
UPDATE {outbox} AS o
SET status = 'FAILED', claim_token = NULL, attempts = o.attempts + b.counted,
    failures = o.failures + 1, last_error = b.error
FROM {failed_tries}
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    lock_newcomers="""
SELECT o.id, o.aggregate_type, o.aggregate_id
FROM (
    SELECT d.id, d.aggregate_type, d.aggregate_id FROM {outbox} AS d
    WHERE d.status IN ('PENDING', 'PROCESSING') AND d.due_at <= {now}
    ORDER BY d.due_at, d.id LIMIT :limit
) AS due
JOIN {outbox} AS o ON o.id = due.id
WHERE {waits} AND (
    SELECT f.id FROM {outbox} AS f INDEXED BY {hindered}
    WHERE f.aggregate_type = due.aggregate_type AND f.aggregate_id = due.aggregate_id
        AND f.id < due.id AND f.status NOT IN ('SENT', 'SKIPPED')
        AND (f.status <> 'PENDING' OR f.failures > 0 OR f.claim_token IS NOT NULL)
        AND f.status = 'FAILED'
    LIMIT 1
) IS NOT NULL
""",
    lock_heads="""
SELECT f.id, f.aggregate_type, f.aggregate_id
FROM (
    SELECT json_extract(value, '$.aggregate_type') AS aggregate_type,
        json_extract(value, '$.aggregate_id') AS aggregate_id
    FROM json_each(:batch)
) AS b
JOIN {outbox} AS f INDEXED BY {hindered}
    ON f.aggregate_type = b.aggregate_type AND f.aggregate_id = b.aggregate_id
WHERE f.status NOT IN ('SENT', 'SKIPPED')
    AND (f.status <> 'PENDING' OR f.failures > 0 OR f.claim_token IS NOT NULL)
    AND f.status = 'FAILED'
""",
    park="UPDATE {outbox} AS o SET due_at = {parked_until} WHERE o.id IN ({ids})",
    lock_strays="""
SELECT o.id FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at
    > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', :horizon)) || '000'
ORDER BY o.due_at, o.id LIMIT :limit
""",
    lock_ahead="""
SELECT o.id
FROM (
    SELECT d.id, d.claimed_at, d.created_at, d.claim_token, d.failures FROM {outbox} AS d
    WHERE d.status IN ('PENDING', 'PROCESSING') AND d.due_at > {now}
    ORDER BY d.due_at, d.id LIMIT :limit
) AS o
WHERE {ahead}
""",
    bring_back="""
UPDATE {outbox} AS o
SET due_at = CASE WHEN o.claim_token IS NULL THEN min(o.created_at, {now})
        ELSE strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', min(:horizon,
            (julianday(o.due_at) - julianday(o.claimed_at)) * 86400.0))) || '000' END,
    claimed_at = CASE WHEN o.claim_token IS NOT NULL THEN {now} END,
    created_at = min(o.created_at, {now})
WHERE o.id IN ({ids})
""",
    next_due="""
SELECT (julianday(o.due_at) - julianday('now')) * 86400.0 AS seconds FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at > {now}
ORDER BY o.due_at LIMIT 1
""",
    backlog="""
SELECT count(CASE WHEN o.status = 'PENDING' THEN 1 END) AS pending,
    count(CASE WHEN o.status = 'PROCESSING' THEN 1 END) AS processing,
    count(CASE WHEN o.status = 'FAILED' THEN 1 END) AS failed,
    (julianday('now') - julianday(min(CASE WHEN o.status <> 'FAILED' THEN o.created_at END)))
        * 86400.0 AS oldest_age
FROM {outbox} AS o WHERE o.status NOT IN ('SENT', 'SKIPPED')
""",
    list_failed="""
SELECT {entry_columns} FROM {outbox} AS o WHERE o.status = 'FAILED' AND o.id > :after_id
ORDER BY o.id LIMIT :limit
""",
    find="SELECT {entry_columns} FROM {outbox} AS o WHERE o.message_id = :message_id",
    lock_dead="""
SELECT o.id, o.aggregate_type, o.aggregate_id FROM {outbox} AS o
WHERE o.message_id IN ({ids})
    AND (o.status = 'FAILED' OR (:also_skipped AND o.status = 'SKIPPED'))
ORDER BY o.id
""",
    replay="""
UPDATE {outbox} AS o
SET status = 'PENDING', attempts = 0, failures = 0, claim_token = NULL, sent_at = NULL,
    due_at = min(o.created_at, {now})
WHERE o.id IN ({ids})
""",
    skip="""
UPDATE {outbox} AS o
SET status = 'SKIPPED', sent_at = {now},
    last_error = substr(:note || COALESCE(' | ' || o.last_error, ''), 1, :length)
WHERE o.id IN ({ids})
""",
    lock_parked="SELECT o.id FROM {parked}",
    find_parked="SELECT o.id FROM {parked} LIMIT 1",
    wake="UPDATE {outbox} AS o SET due_at = min(o.created_at, {now}) WHERE o.id IN ({ids})",
    lock_ended="""
SELECT o.id FROM {outbox} AS o
WHERE o.sent_at IS NOT NULL AND o.status IN ('SENT', 'SKIPPED') AND o.sent_at
    <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', -:older_than)) || '000'
ORDER BY o.sent_at LIMIT :limit
""",
    delete="DELETE FROM {outbox} WHERE id IN ({ids})",
)


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
        names = _FRAGMENTS | returned | names_of(table, dialect)
        return cls(
            statements=prepared(_STATEMENTS, names),
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
