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
from pragmatic_ddd_sqlalchemy.dialects.statements import (
    Inserted,
    Locked,
    LockedRow,
    Statements,
    aggregates_json,
    named,
    names_of,
    ownable,
    prepared,
)
from pragmatic_ddd_sqlalchemy.rows import Row, as_json

# What stands in several statements in the same words; later ones may stand in earlier ones.
_FRAGMENTS = {
    "by_id": "STRAIGHT_JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = b.id",
    "ids": "JSON_TABLE(:batch, '$[*]' COLUMNS (id BIGINT PATH '$')) AS b",
    "texts": "JSON_TABLE(:batch, '$[*]' COLUMNS (value {key} PATH '$')) AS b",
    "id_and_token": """JSON_TABLE(:batch, '$[*]' COLUMNS (
    id BIGINT PATH '$.id', claim_token {key} PATH '$.claim_token')) AS b""",
    "failed_tries": """JSON_TABLE(:batch, '$[*]' COLUMNS (
    id BIGINT PATH '$.id', claim_token {key} PATH '$.claim_token', error {error} PATH '$.error',
    counted INT PATH '$.counted', retry_in DECIMAL(20, 6) PATH '$.retry_in')) AS b""",
    "aggregates": """JSON_TABLE(:aggregates, '$[*]' COLUMNS (
    place INT PATH '$.place', aggregate_type {key} PATH '$.aggregate_type',
    aggregate_id {key} PATH '$.aggregate_id', top BIGINT PATH '$.top',
    due_at DATETIME(6) PATH '$.due_at')) AS a""",
    "parked_until": """UTC_TIMESTAMP(6) + INTERVAL LEAST(GREATEST(
    TIMESTAMPDIFF(MICROSECOND, o.created_at, UTC_TIMESTAMP(6)), 60000000), 3600000000)
    MICROSECOND""",
    "waits": "o.status = 'PENDING' AND o.claim_token IS NULL AND o.failures = 0",
    "key": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "error": "VARCHAR(4000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
}

# A snapshot older than the lock on the aggregate would miss a predecessor: nothing is born
# owned above READ COMMITTED.
_RESERVE = """
SELECT UTC_TIMESTAMP(6) AS clock,
    UTC_TIMESTAMP(6) + INTERVAL :grace SECOND AS grace_end,
    {isolation} = 'READ-COMMITTED' AND (
        SELECT p.id FROM {outbox} AS p FORCE INDEX ({unsent})
        WHERE p.unsent = 1 AND p.aggregate_type = a.aggregate_type
            AND p.aggregate_id = a.aggregate_id AND NOT (p.claim_token <=> :claim_token)
        LIMIT 1
    ) IS NULL AS is_free
FROM JSON_TABLE(:batch, '$[*]' COLUMNS (place FOR ORDINALITY,
    aggregate_type {key} PATH '$.aggregate_type', aggregate_id {key} PATH '$.aggregate_id')) AS a
ORDER BY a.place
"""

_CLOCK = "SELECT UTC_TIMESTAMP(6) AS clock"

# Placeholders only: the driver sends many rows in one statement of this shape.
_INSERT = """
INSERT INTO {outbox} (message_id, aggregate_type, aggregate_id, aggregate_version, event_index,
    event_type, event_version, payload, headers, status, attempts, failures, due_at,
    claim_token, claimed_at, created_at)
VALUES (:message_id, :aggregate_type, :aggregate_id, :aggregate_version, :event_index,
    :event_type, :event_version, :payload, :headers, :status, :attempts, :failures, :due_at,
    :claim_token, :claimed_at, :created_at)
"""

_INSERTED = """
SELECT o.message_id, o.id FROM {texts} STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({message_id})
    ON o.message_id = b.value
"""

_GAPS = """
SELECT a.place, (
    SELECT p.id FROM {outbox} AS p FORCE INDEX ({unsent})
    WHERE p.unsent = 1 AND p.aggregate_type = a.aggregate_type
        AND p.aggregate_id = a.aggregate_id AND p.id < a.top
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

# The first hindered row of an aggregate, and not any before this row: MariaDB remembers a
# subquery's result by what it depends on, here once for all rows of a hot aggregate.
_STATEMENTS = Statements(
    lock_due="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at,
    o.status = 'PROCESSING' OR o.claim_token IS NOT NULL AS lapsed,
    {claimed_columns}
FROM {outbox} AS o FORCE INDEX ({due})
WHERE o.due_sort <= UTC_TIMESTAMP(6)
    AND COALESCE((
        SELECT p.id FROM {outbox} AS p FORCE INDEX ({hindered})
        WHERE p.hindered = 1 AND p.aggregate_type = o.aggregate_type
            AND p.aggregate_id = o.aggregate_id
        ORDER BY p.id LIMIT 1
    ), o.id) >= o.id
ORDER BY o.due_sort, o.id LIMIT :limit
FOR UPDATE SKIP LOCKED
""",
    lock_ids="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at, 0 AS lapsed, {claimed_columns}
FROM {ids} {by_id}
WHERE {waits}
FOR UPDATE SKIP LOCKED
""",
    lock_stragglers="""
SELECT o.id, a.due_at
FROM {aggregates} STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({unsent}) ON o.unsent = 1
    AND o.aggregate_type = a.aggregate_type AND o.aggregate_id = a.aggregate_id AND o.id < a.top
WHERE {waits} AND o.due_at > a.due_at
LIMIT :limit
FOR UPDATE SKIP LOCKED
""",
    move_due="""
UPDATE JSON_TABLE(:batch, '$[*]' COLUMNS (
    id BIGINT PATH '$.id', due_at DATETIME(6) PATH '$.due_at')) AS b
{by_id}
SET o.due_at = b.due_at
""",
    mark_sent="""
UPDATE JSON_TABLE(:batch, '$[*]' COLUMNS (
    id BIGINT PATH '$.id', claim_token {key} PATH '$.claim_token',
    receipt {error} PATH '$.receipt')) AS b
{by_id} AND o.claim_token = b.claim_token
SET o.receipt = IF(o.status = 'SENT', o.receipt, b.receipt),
    o.sent_at = COALESCE(o.sent_at, UTC_TIMESTAMP(6)), o.status = 'SENT'
WHERE o.status IN ('PENDING', 'PROCESSING', 'SENT')
""",
    release="""
UPDATE {id_and_token}
{by_id} AND o.claim_token = b.claim_token
SET o.due_at = LEAST(o.created_at, UTC_TIMESTAMP(6)), o.claim_token = NULL, o.status = 'PENDING'
WHERE o.status IN ('PENDING', 'PROCESSING')
""",
    retry_later="""
UPDATE {failed_tries}
{by_id} AND o.claim_token = b.claim_token
SET o.attempts = o.attempts + b.counted, o.failures = o.failures + 1, o.last_error = b.error,
    o.due_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(b.retry_in, :horizon) SECOND,
    o.claim_token = NULL, o.status = 'PENDING'
WHERE o.status IN ('PENDING', 'PROCESSING')
""",
    mark_failed="""
UPDATE {failed_tries}
{by_id} AND o.claim_token = b.claim_token
SET o.attempts = o.attempts + b.counted, o.failures = o.failures + 1, o.last_error = b.error,
    o.claim_token = NULL, o.status = 'FAILED'
WHERE o.status IN ('PENDING', 'PROCESSING')
""",
    lock_tail="""
SELECT o.id
FROM {ids} STRAIGHT_JOIN {outbox} AS f FORCE INDEX (PRIMARY) ON f.id = b.id
STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({unsent}) ON o.unsent = 1
    AND o.aggregate_type = f.aggregate_type AND o.aggregate_id = f.aggregate_id AND o.id > f.id
WHERE f.status = 'FAILED' AND {waits}
FOR UPDATE SKIP LOCKED
""",
    lock_newcomers="""
SELECT o.id
FROM (
    SELECT d.id, d.aggregate_type, d.aggregate_id FROM {outbox} AS d FORCE INDEX ({due})
    WHERE d.due_sort <= UTC_TIMESTAMP(6)
    ORDER BY d.due_sort, d.id LIMIT :limit
) AS due
STRAIGHT_JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = due.id
WHERE {waits} AND (
    SELECT f.id FROM {outbox} AS f FORCE INDEX ({hindered})
    WHERE f.hindered = 1 AND f.aggregate_type = due.aggregate_type
        AND f.aggregate_id = due.aggregate_id AND f.id < due.id AND f.status = 'FAILED'
    LIMIT 1
) IS NOT NULL
FOR UPDATE SKIP LOCKED
""",
    park="""
UPDATE {ids} {by_id} SET o.due_at = {parked_until}
""",
    lock_strays="""
SELECT o.id FROM {outbox} AS o FORCE INDEX ({due})
WHERE o.due_sort > UTC_TIMESTAMP(6) + INTERVAL :horizon SECOND
ORDER BY o.due_sort, o.id LIMIT :limit
FOR UPDATE SKIP LOCKED
""",
    bring_back="""
UPDATE {ids} {by_id}
SET o.due_at = IF(o.claim_token IS NULL, LEAST(o.created_at, UTC_TIMESTAMP(6)),
        UTC_TIMESTAMP(6) + INTERVAL LEAST(
            TIMESTAMPDIFF(MICROSECOND, o.claimed_at, o.due_at), :horizon * 1000000) MICROSECOND),
    o.claimed_at = IF(o.claim_token IS NULL, NULL, UTC_TIMESTAMP(6))
""",
    next_due="""
SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), o.due_sort) / 1000000 AS seconds
FROM {outbox} AS o FORCE INDEX ({due})
WHERE o.due_sort > UTC_TIMESTAMP(6)
ORDER BY o.due_sort LIMIT 1
""",
    backlog="""
SELECT count(IF(o.status = 'PENDING', 1, NULL)) AS pending,
    count(IF(o.status = 'PROCESSING', 1, NULL)) AS processing,
    count(IF(o.status = 'FAILED', 1, NULL)) AS failed,
    TIMESTAMPDIFF(MICROSECOND, min(IF(o.status = 'FAILED', NULL, o.created_at)),
        UTC_TIMESTAMP(6)) / 1000000 AS oldest_age
FROM {outbox} AS o FORCE INDEX ({unsent}) WHERE o.unsent = 1
""",
    list_failed="""
SELECT {entry_columns} FROM {outbox} AS o FORCE INDEX ({hindered})
WHERE o.hindered = 1 AND o.status = 'FAILED' AND o.id > :after_id
ORDER BY o.id LIMIT :limit
""",
    find="SELECT {entry_columns} FROM {outbox} AS o WHERE o.message_id = :message_id",
    lock_dead="""
SELECT o.id, o.aggregate_type, o.aggregate_id
FROM {texts} STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({message_id})
    ON o.message_id = b.value
WHERE o.status = 'FAILED' OR (:also_skipped AND o.status = 'SKIPPED')
FOR UPDATE
""",
    replay="""
UPDATE {ids} {by_id}
SET o.attempts = 0, o.failures = 0, o.claim_token = NULL, o.sent_at = NULL,
    o.due_at = LEAST(o.created_at, UTC_TIMESTAMP(6)), o.status = 'PENDING'
""",
    skip="""
UPDATE {ids} {by_id}
SET o.last_error = LEFT(CONCAT(:note, COALESCE(CONCAT(' | ', o.last_error), '')), :length),
    o.sent_at = UTC_TIMESTAMP(6), o.status = 'SKIPPED'
""",
    lock_parked="""
SELECT o.id
FROM JSON_TABLE(:batch, '$[*]' COLUMNS (aggregate_type {key} PATH '$.aggregate_type',
    aggregate_id {key} PATH '$.aggregate_id')) AS b
STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({unsent}) ON o.unsent = 1
    AND o.aggregate_type = b.aggregate_type AND o.aggregate_id = b.aggregate_id
WHERE {waits} AND o.due_at > UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED
""",
    wake="""
UPDATE {ids} {by_id} SET o.due_at = LEAST(o.created_at, UTC_TIMESTAMP(6))
""",
    lock_ended="""
SELECT o.id FROM {outbox} AS o FORCE INDEX ({ended})
WHERE o.sent_at <= UTC_TIMESTAMP(6) - INTERVAL :older_than SECOND
    AND o.status IN ('SENT', 'SKIPPED')
ORDER BY o.sent_at LIMIT :limit
FOR UPDATE SKIP LOCKED
""",
    delete="DELETE o FROM {ids} {by_id}",
)


@attrs.frozen(kw_only=True)
class MySqlDialect:
    """The SQL for one table in MySQL or MariaDB."""

    statements: Statements[sa.TextClause]
    isolation_level: str | None = "READ COMMITTED"
    oldest_server: str = "MySQL 8.0.4 or MariaDB 10.6 (SKIP LOCKED, JSON_TABLE)"
    _clock: sa.TextClause
    _reserve_mariadb: sa.TextClause
    _reserve_mysql: sa.TextClause
    _insert: sa.TextClause
    _inserted: sa.TextClause
    _gaps: sa.TextClause
    _mark: sa.TextClause

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        names = _FRAGMENTS | names_of(table, dialect)
        return cls(
            statements=prepared(_STATEMENTS, names),
            clock=named(_CLOCK, names),
            reserve_mariadb=named(_RESERVE, names | {"isolation": "@@tx_isolation"}),
            reserve_mysql=named(_RESERVE, names | {"isolation": "@@transaction_isolation"}),
            insert=named(_INSERT, names),
            inserted=named(_INSERTED, names),
            gaps=named(_GAPS, names),
            mark=named(_MARK, names),
        )

    def serves(self, dialect: sa.Dialect) -> bool:
        oldest = (10, 6) if _is_mariadb(dialect) else (8, 0, 4)
        return (dialect.server_version_info or ()) >= oldest

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        births = self._births(connection, rows, reservation)
        connection.execute(
            self._insert, [row | born for row, born in zip(rows, births, strict=True)]
        )
        owned = {
            row["message_id"]: born["claim_token"] is not None
            for row, born in zip(rows, births, strict=True)
        }
        inserted = connection.execute(self._inserted, {"batch": as_json(list(owned))})
        return {
            row.message_id: Inserted(id=row.id, owned=owned[row.message_id]) for row in inserted
        }

    def take(
        self, connection: sa.Connection, locked: Locked, *, claim_token: str, lease_seconds: float
    ) -> Sequence[Row]:
        ids = [row.id for row in locked.rows]
        gaps = connection.execute(
            self._gaps, {"batch": as_json(ids), "aggregates": aggregates_json(locked)}
        )
        first_gap = {gap.place: gap.id for gap in gaps if gap.id is not None}
        taken = [
            row
            for row, place in zip(locked.rows, locked.places, strict=True)
            if place not in first_gap or row.id < first_gap[place]
        ]
        if taken:
            connection.execute(
                self._mark,
                {
                    "batch": as_json([row.id for row in taken]),
                    "claim_token": claim_token,
                    "lease": lease_seconds,
                },
            )
        return [_as_marked(row) for row in taken]

    def _births(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> list[dict[str, Any]]:
        """Return the state that each row is born with."""
        may_be_owned = ownable(rows, reservation)
        aggregates = {
            (row["aggregate_type"], row["aggregate_id"])
            for row, may in zip(rows, may_be_owned, strict=True)
            if may
        }
        if reservation is None or not aggregates:
            clock = connection.execute(self._clock).scalar_one()
            return [_born(clock)] * len(rows)
        found = self._reserve(connection, sorted(aggregates), reservation)
        clock = found[0].clock
        owned = _born(clock) | {
            "claim_token": reservation.claim_token,
            "claimed_at": clock,
            "due_at": found[0].grace_end,
        }
        free = {
            aggregate
            for aggregate, row in zip(sorted(aggregates), found, strict=True)
            if row.is_free
        }
        return [
            owned if may and (row["aggregate_type"], row["aggregate_id"]) in free else _born(clock)
            for row, may in zip(rows, may_be_owned, strict=True)
        ]

    def _reserve(
        self,
        connection: sa.Connection,
        aggregates: Sequence[tuple[str, str]],
        reservation: Reservation,
    ) -> Sequence[sa.Row[Any]]:
        keys = [{"aggregate_type": kind, "aggregate_id": key} for kind, key in aggregates]
        parameters = {
            "batch": as_json(keys),
            "claim_token": reservation.claim_token,
            "grace": reservation.grace.total_seconds(),
        }
        reserve = self._reserve_mariadb if _is_mariadb(connection.dialect) else self._reserve_mysql
        return connection.execute(reserve, parameters).all()


def _is_mariadb(dialect: sa.Dialect) -> bool:
    return bool(getattr(dialect, "is_mariadb", False))


def _as_marked(row: LockedRow) -> Row:
    row_id, attempts, *rest = row.claimed
    return [row_id, attempts + row.lapsed, *rest]


def _born(clock: object) -> dict[str, Any]:
    return {
        "status": "PENDING",
        "attempts": 0,
        "failures": 0,
        "claim_token": None,
        "claimed_at": None,
        "due_at": clock,
        "created_at": clock,
    }
