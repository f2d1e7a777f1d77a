"""What the outbox asks of MySQL and MariaDB: the statements whose use is the same everywhere.

Times and forced indexes: see the dialect.
"""

from pragmatic_ddd_sqlalchemy.dialects.statements import Statements

# What stands in several statements in the same words; later ones may stand in earlier ones.
FRAGMENTS = {
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
    # A second: what differs by less is no step, but a moment between two readings.
    "ahead": """(o.claimed_at > UTC_TIMESTAMP(6) + INTERVAL 1 SECOND
    OR (o.claim_token IS NULL AND o.failures = 0
        AND o.created_at > UTC_TIMESTAMP(6) + INTERVAL 1 SECOND))""",
    "parked": """JSON_TABLE(:batch, '$[*]' COLUMNS (aggregate_type {key} PATH '$.aggregate_type',
    aggregate_id {key} PATH '$.aggregate_id')) AS b
STRAIGHT_JOIN {outbox} AS o FORCE INDEX ({unsent}) ON o.unsent = 1
    AND o.aggregate_type = b.aggregate_type AND o.aggregate_id = b.aggregate_id
WHERE {waits} AND o.due_at > UTC_TIMESTAMP(6)""",
    "parked_until": """UTC_TIMESTAMP(6) + INTERVAL LEAST(GREATEST(
    TIMESTAMPDIFF(MICROSECOND, o.created_at, UTC_TIMESTAMP(6)), 60000000), 3600000000)
    MICROSECOND""",
    "waits": "o.status = 'PENDING' AND o.claim_token IS NULL AND o.failures = 0",
    "key": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "error": "VARCHAR(4000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
}

# The first hindered (or FAILED) row of an aggregate, and not any before this row: MariaDB
# remembers a subquery's result by what it depends on, here once for all rows of a hot aggregate.
STATEMENTS = Statements(
    lock_due="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at,
    o.status = 'PROCESSING' OR o.claim_token IS NOT NULL AS lapsed,
    o.attempts > 0 AS tried, {claimed_columns}
FROM {outbox} AS o FORCE INDEX ({due})
WHERE o.due_sort <= UTC_TIMESTAMP(6) AND NOT (o.claim_token <=> :confirmed)
    AND COALESCE((
        SELECT p.id FROM {outbox} AS p FORCE INDEX ({hindered})
        WHERE p.hindered = 1 AND p.aggregate_type = o.aggregate_type
            AND p.aggregate_id = o.aggregate_id AND NOT (p.claim_token <=> :confirmed)
        ORDER BY p.id LIMIT 1
    ), o.id) >= o.id
ORDER BY o.due_sort, o.id LIMIT :limit
FOR UPDATE SKIP LOCKED
""",
    lock_ids="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at, 0 AS lapsed, 0 AS tried,
    {claimed_columns}
FROM {ids} {by_id}
WHERE {waits}
FOR UPDATE SKIP LOCKED
""",
    unclaimed="SELECT o.id FROM {ids} {by_id} WHERE {waits}",
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
    lock_newcomers="""
SELECT o.id, o.aggregate_type, o.aggregate_id
FROM (
    SELECT d.id, d.aggregate_type, d.aggregate_id FROM {outbox} AS d FORCE INDEX ({due})
    WHERE d.due_sort <= UTC_TIMESTAMP(6)
    ORDER BY d.due_sort, d.id LIMIT :limit
) AS due
STRAIGHT_JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = due.id
WHERE {waits} AND (
    SELECT f.id FROM {outbox} AS f FORCE INDEX ({hindered})
    WHERE f.hindered = 1 AND f.aggregate_type = due.aggregate_type
        AND f.aggregate_id = due.aggregate_id AND f.status = 'FAILED'
    ORDER BY f.id LIMIT 1
) < due.id
FOR UPDATE SKIP LOCKED
""",
    lock_heads="""
SELECT f.id, f.aggregate_type, f.aggregate_id
FROM JSON_TABLE(:batch, '$[*]' COLUMNS (aggregate_type {key} PATH '$.aggregate_type',
    aggregate_id {key} PATH '$.aggregate_id')) AS b
STRAIGHT_JOIN {outbox} AS f FORCE INDEX ({hindered}) ON f.hindered = 1
    AND f.aggregate_type = b.aggregate_type AND f.aggregate_id = b.aggregate_id
WHERE f.status = 'FAILED'
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
    lock_ahead="""
SELECT w.id
FROM (
    SELECT o.id FROM (
        SELECT d.id, d.claimed_at, d.created_at, d.claim_token, d.failures
        FROM {outbox} AS d FORCE INDEX ({due})
        WHERE d.due_sort > UTC_TIMESTAMP(6)
        ORDER BY d.due_sort, d.id LIMIT :limit
    ) AS o WHERE {ahead}
) AS w
STRAIGHT_JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = w.id
WHERE o.due_sort > UTC_TIMESTAMP(6) AND {ahead}
FOR UPDATE SKIP LOCKED
""",
    bring_back="""
UPDATE {ids} {by_id}
SET o.due_at = IF(o.claim_token IS NULL, LEAST(o.created_at, UTC_TIMESTAMP(6)),
        UTC_TIMESTAMP(6) + INTERVAL LEAST(
            TIMESTAMPDIFF(MICROSECOND, o.claimed_at, o.due_at), :horizon * 1000000) MICROSECOND),
    o.claimed_at = IF(o.claim_token IS NULL, NULL, UTC_TIMESTAMP(6)),
    o.created_at = LEAST(o.created_at, UTC_TIMESTAMP(6))
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
SELECT o.id FROM {parked} FOR UPDATE SKIP LOCKED
""",
    find_parked="SELECT o.id FROM {parked} LIMIT 1",
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
