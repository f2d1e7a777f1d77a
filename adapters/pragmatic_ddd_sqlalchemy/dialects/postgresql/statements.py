"""What the outbox asks of PostgreSQL: the statements whose use is the same everywhere.

``clock_timestamp()``, never ``now()``: see the dialect.
"""

from pragmatic_ddd_sqlalchemy.dialects.statements import Statements

# What stands in several statements in the same words; later ones may stand in earlier ones.
FRAGMENTS = {
    "parked": """{aggregates}
JOIN {outbox} AS o ON o.aggregate_type = b.aggregate_type AND o.aggregate_id = b.aggregate_id
WHERE o.status NOT IN ('SENT', 'SKIPPED') AND {waits} AND o.due_at > clock_timestamp()""",
    "aggregates": """json_to_recordset(CAST(:batch AS json))
    AS b (aggregate_type text, aggregate_id text)""",
    "ids": "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:batch AS json))",
    "texts": "SELECT value FROM json_array_elements_text(CAST(:batch AS json))",
    "waits": "o.status = 'PENDING' AND o.claim_token IS NULL AND o.failures = 0",
    # A second: what differs by less is no step, but a moment between two readings.
    "ahead": """(o.claimed_at > clock_timestamp() + interval '1 second'
    OR (o.claim_token IS NULL AND o.failures = 0
        AND o.created_at > clock_timestamp() + interval '1 second'))""",
    "parked_until": """clock_timestamp() + LEAST(
    GREATEST(clock_timestamp() - o.created_at, interval '1 minute'), interval '1 hour')""",
}

# The aggregates with a hindered row are read once and hashed, and only their rows are probed:
# while some long transaction keeps dead rows alive, each probe of a hot aggregate passes over
# all of them. With very many hindered rows every row is probed instead. The CASE keeps
# the planner from making joins of this, whose order of rows or estimates might go wrong.
# The hindered are read in the order of their index. Else the planner might read the table, and
# hope to have its ten thousand soon: what is sent keeps its token, so that it takes most of what
# is unsent to have one.
STATEMENTS = Statements(
    lock_due="""
WITH hindered AS MATERIALIZED (
    SELECT h.aggregate_type, h.aggregate_id FROM {outbox} AS h
    WHERE h.status NOT IN ('SENT', 'SKIPPED')
        AND (h.status <> 'PENDING' OR h.failures > 0 OR h.claim_token IS NOT NULL)
        AND h.claim_token IS DISTINCT FROM CAST(:confirmed AS text)
    ORDER BY h.aggregate_type, h.aggregate_id, h.id LIMIT 10000
)
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at,
    o.status = 'PROCESSING' OR o.claim_token IS NOT NULL AS lapsed, o.attempts > 0 AS tried
FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at <= (SELECT clock_timestamp())
    AND o.claim_token IS DISTINCT FROM CAST(:confirmed AS text)
    AND CASE WHEN (SELECT count(*) FROM hindered) = 10000
        OR (o.aggregate_type, o.aggregate_id) IN (SELECT * FROM hindered)
    THEN NOT EXISTS (
        SELECT 1 FROM {outbox} AS p
        WHERE p.aggregate_type = o.aggregate_type AND p.aggregate_id = o.aggregate_id
            AND p.id < o.id AND p.status NOT IN ('SENT', 'SKIPPED')
            AND (p.status <> 'PENDING' OR p.failures > 0 OR p.claim_token IS NOT NULL)
            AND p.claim_token IS DISTINCT FROM CAST(:confirmed AS text)
    ) ELSE true END
ORDER BY o.due_at, o.id LIMIT :limit
FOR UPDATE OF o SKIP LOCKED
""",
    lock_ids="""
SELECT o.id, o.aggregate_type, o.aggregate_id, o.due_at, false AS lapsed, false AS tried
FROM {outbox} AS o
WHERE o.id = ANY (ARRAY({ids})) AND {waits}
ORDER BY o.id
FOR UPDATE OF o SKIP LOCKED
""",
    unclaimed="SELECT o.id FROM {outbox} AS o WHERE o.id = ANY (ARRAY({ids})) AND {waits}",
    lock_stragglers="""
SELECT o.id, a.due_at
FROM json_to_recordset(CAST(:aggregates AS json))
    AS a (aggregate_type text, aggregate_id text, top bigint, due_at timestamptz)
JOIN {outbox} AS o ON o.aggregate_type = a.aggregate_type AND o.aggregate_id = a.aggregate_id
WHERE o.status NOT IN ('SENT', 'SKIPPED') AND o.id < a.top AND {waits} AND o.due_at > a.due_at
ORDER BY o.id LIMIT :limit
FOR UPDATE OF o SKIP LOCKED
""",
    move_due="""
UPDATE {outbox} AS o SET due_at = b.due_at
FROM json_to_recordset(CAST(:batch AS json)) AS b (id bigint, due_at timestamptz)
WHERE o.id = b.id
""",
    mark_sent="""
UPDATE {outbox} AS o
SET status = 'SENT', sent_at = COALESCE(o.sent_at, clock_timestamp()),
    receipt = CASE WHEN o.status = 'SENT' THEN o.receipt ELSE b.receipt END
FROM json_to_recordset(CAST(:batch AS json)) AS b (id bigint, claim_token text, receipt text)
WHERE o.id = b.id AND o.claim_token = b.claim_token
    AND o.status IN ('PENDING', 'PROCESSING', 'SENT')
""",
    release="""
UPDATE {outbox} AS o
SET status = 'PENDING', claim_token = NULL, due_at = LEAST(o.created_at, clock_timestamp())
FROM json_to_recordset(CAST(:batch AS json)) AS b (id bigint, claim_token text)
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    retry_later="""
UPDATE {outbox} AS o
SET status = 'PENDING', claim_token = NULL, attempts = o.attempts + b.counted,
    failures = o.failures + 1, last_error = b.error,
    due_at = clock_timestamp() + make_interval(secs => LEAST(b.retry_in, CAST(:horizon AS float)))
FROM json_to_recordset(CAST(:batch AS json))
    AS b (id bigint, claim_token text, error text, counted integer, retry_in float)
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    mark_failed="""
UPDATE {outbox} AS o
SET status = 'FAILED', claim_token = NULL, attempts = o.attempts + b.counted,
    failures = o.failures + 1, last_error = b.error
FROM json_to_recordset(CAST(:batch AS json))
    AS b (id bigint, claim_token text, error text, counted integer)
WHERE o.id = b.id AND o.claim_token = b.claim_token AND o.status IN ('PENDING', 'PROCESSING')
""",
    # Both looked up once, whatever the planner takes the table's size to be.
    lock_newcomers="""
WITH due AS MATERIALIZED (
    SELECT d.id, d.aggregate_type, d.aggregate_id FROM {outbox} AS d
    WHERE d.status IN ('PENDING', 'PROCESSING') AND d.due_at <= (SELECT clock_timestamp())
    ORDER BY d.due_at, d.id LIMIT :limit
), stuck AS MATERIALIZED (
    SELECT due.id FROM due
    WHERE (
        SELECT f.id FROM {outbox} AS f
        WHERE f.aggregate_type = due.aggregate_type AND f.aggregate_id = due.aggregate_id
            AND f.id < due.id AND f.status NOT IN ('SENT', 'SKIPPED')
            AND (f.status <> 'PENDING' OR f.failures > 0 OR f.claim_token IS NOT NULL)
            AND f.status = 'FAILED'
        LIMIT 1
    ) IS NOT NULL
)
SELECT o.id, o.aggregate_type, o.aggregate_id FROM {outbox} AS o
WHERE o.id = ANY (ARRAY(SELECT stuck.id FROM stuck)) AND {waits}
FOR UPDATE OF o SKIP LOCKED
""",
    lock_heads="""
SELECT f.id, f.aggregate_type, f.aggregate_id
FROM {aggregates}
JOIN {outbox} AS f ON f.aggregate_type = b.aggregate_type AND f.aggregate_id = b.aggregate_id
WHERE f.status NOT IN ('SENT', 'SKIPPED')
    AND (f.status <> 'PENDING' OR f.failures > 0 OR f.claim_token IS NOT NULL)
    AND f.status = 'FAILED'
FOR SHARE OF f SKIP LOCKED
""",
    park="""
UPDATE {outbox} AS o SET due_at = {parked_until} WHERE o.id = ANY (ARRAY({ids}))
""",
    lock_strays="""
SELECT o.id FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING')
    AND o.due_at > (SELECT clock_timestamp() + make_interval(secs => CAST(:horizon AS float)))
ORDER BY o.due_at, o.id LIMIT :limit
FOR UPDATE OF o SKIP LOCKED
""",
    lock_ahead="""
WITH waiting AS MATERIALIZED (
    SELECT o.id, o.claimed_at, o.created_at, o.claim_token, o.failures FROM {outbox} AS o
    WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at > (SELECT clock_timestamp())
    ORDER BY o.due_at, o.id LIMIT :limit
)
SELECT o.id FROM {outbox} AS o
WHERE o.id = ANY (ARRAY(SELECT o.id FROM waiting AS o WHERE {ahead}))
    AND o.status IN ('PENDING', 'PROCESSING') AND o.due_at > clock_timestamp() AND {ahead}
FOR UPDATE OF o SKIP LOCKED
""",
    bring_back="""
UPDATE {outbox} AS o
SET due_at = CASE WHEN o.claim_token IS NULL THEN LEAST(o.created_at, clock_timestamp())
        ELSE clock_timestamp() + LEAST(
            o.due_at - o.claimed_at, make_interval(secs => CAST(:horizon AS float))) END,
    claimed_at = CASE WHEN o.claim_token IS NOT NULL THEN clock_timestamp() END,
    created_at = LEAST(o.created_at, clock_timestamp())
WHERE o.id = ANY (ARRAY({ids}))
""",
    next_due="""
SELECT EXTRACT(EPOCH FROM o.due_at - clock_timestamp()) AS seconds FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at > (SELECT clock_timestamp())
ORDER BY o.due_at LIMIT 1
""",
    backlog="""
SELECT count(*) FILTER (WHERE o.status = 'PENDING') AS pending,
    count(*) FILTER (WHERE o.status = 'PROCESSING') AS processing,
    count(*) FILTER (WHERE o.status = 'FAILED') AS failed,
    EXTRACT(EPOCH FROM clock_timestamp()
        - min(o.created_at) FILTER (WHERE o.status <> 'FAILED')) AS oldest_age
FROM {outbox} AS o WHERE o.status NOT IN ('SENT', 'SKIPPED')
""",
    list_failed="""
SELECT {entry_columns} FROM {outbox} AS o
WHERE o.status = 'FAILED' AND o.id > :after_id
ORDER BY o.id LIMIT :limit
""",
    find="SELECT {entry_columns} FROM {outbox} AS o WHERE o.message_id = :message_id",
    lock_dead="""
SELECT o.id, o.aggregate_type, o.aggregate_id FROM {outbox} AS o
WHERE o.message_id = ANY (ARRAY({texts}))
    AND (o.status = 'FAILED' OR (CAST(:also_skipped AS boolean) AND o.status = 'SKIPPED'))
ORDER BY o.id
FOR UPDATE OF o
""",
    replay="""
UPDATE {outbox} AS o
SET status = 'PENDING', attempts = 0, failures = 0, claim_token = NULL, sent_at = NULL,
    due_at = LEAST(o.created_at, clock_timestamp())
WHERE o.id = ANY (ARRAY({ids}))
""",
    skip="""
UPDATE {outbox} AS o
SET status = 'SKIPPED', sent_at = clock_timestamp(),
    last_error = left(CAST(:note AS text) || COALESCE(' | ' || o.last_error, ''), :length)
WHERE o.id = ANY (ARRAY({ids}))
""",
    lock_parked="""
SELECT o.id FROM {parked} FOR UPDATE OF o SKIP LOCKED
""",
    find_parked="SELECT o.id FROM {parked} LIMIT 1",
    wake="""
UPDATE {outbox} AS o SET due_at = LEAST(o.created_at, clock_timestamp())
WHERE o.id = ANY (ARRAY({ids}))
""",
    lock_ended="""
SELECT o.id FROM {outbox} AS o
WHERE o.sent_at <= (SELECT clock_timestamp() - make_interval(secs => CAST(:older_than AS float)))
    AND o.status IN ('SENT', 'SKIPPED')
ORDER BY o.sent_at LIMIT :limit
FOR UPDATE OF o SKIP LOCKED
""",
    delete="DELETE FROM {outbox} AS o WHERE o.id = ANY (ARRAY({ids}))",
)
