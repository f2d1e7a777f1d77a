"""What the outbox asks of SQLite: the statements whose use is the same everywhere.

Times are text: see the dialect.
"""

from pragmatic_ddd_sqlalchemy.dialects.statements import Statements

# What stands in several statements in the same words; later ones may stand in earlier ones.
FRAGMENTS = {
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

STATEMENTS = Statements(
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
