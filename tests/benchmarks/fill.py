"""Rows put into an outbox by the database itself, as the product would have stored them."""

import attrs

from tests.benchmarks.databases import BenchDatabase

_HEADERS = (
    '{"correlation-id":"5f0c5f0e-7a50-4f3a-9a51-7f6bd1c0f9f3",'
    '"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}'
)
_PAYLOAD = (
    '{"customer":{"id":"c-4815162342","tier":"gold"},"lines":[{"sku":"SKU-1001","quantity":2,'
    '"price":"12.50"},{"sku":"SKU-2002","quantity":1,"price":"99.95"}],"total":"124.95",'
    '"currency":"EUR","shipping_address":"Unter den Linden 77, 10117 Berlin",'
    '"note":"leave it with the neighbours, please","occurred_at":"2025-03-14T15:09:26.535897Z",'
    '"order_number":'
)

# Ids are time-ordered, as those of the product: random ones would make an index slower to fill.
# What is sent keeps the token of its batch: a planner that counts tokens has to see them.
_INSERT = """
INSERT INTO {outbox} (message_id, aggregate_type, aggregate_id, aggregate_version, event_index,
    event_type, event_version, payload, headers, status, attempts, failures, due_at, created_at,
    claim_token, claimed_at, sent_at, receipt)
SELECT {message_id}, 'bench.order', {aggregate_id}, n, 0, 'bench.order.changed', 1, {payload},
    '{headers}', '{status}', 0, 0, {instant}, {instant},
    CASE WHEN '{status}' = 'SENT' THEN {claim_token} END,
    CASE WHEN '{status}' = 'SENT' THEN {instant} END,
    CASE WHEN '{status}' = 'SENT' THEN {instant} END, CASE WHEN '{status}' = 'SENT' THEN '0A1' END
FROM {numbers}
"""

_POSTGRESQL = {
    "message_id": """concat('0195', lpad(to_hex(n / 65536), 4, '0'), '-',
    lpad(to_hex(mod(n, 65536)), 4, '0'), '-7', substr(md5(concat('{prefix}', n)), 1, 3), '-8',
    substr(md5(concat('{prefix}', n)), 4, 3), '-', substr(md5(concat('{prefix}', n)), 7, 12))""",
    "aggregate_id": "concat('{of}-', mod(n, {aggregates}))",
    "payload": "concat('{payload_text}', n, '}')",
    "claim_token": "concat('{prefix}-batch-', mod(n, {count} / 200 + 1))",
    "instant": "clock_timestamp() - interval '{age} seconds'",
    "numbers": "generate_series(1, {count}) AS n",
}
_DIALECTS = {
    "postgresql": _POSTGRESQL,
    "mariadb": _POSTGRESQL
    | {
        "message_id": """concat('0195', lpad(lower(hex(n DIV 65536)), 4, '0'), '-',
    lpad(lower(hex(mod(n, 65536))), 4, '0'), '-7', substr(md5(concat('{prefix}', n)), 1, 3), '-8',
    substr(md5(concat('{prefix}', n)), 4, 3), '-', substr(md5(concat('{prefix}', n)), 7, 12))""",
        "claim_token": "concat('{prefix}-batch-', mod(n, {count} DIV 200 + 1))",
        "instant": "UTC_TIMESTAMP(6) - INTERVAL {age} SECOND",
        "numbers": "(SELECT seq AS n FROM seq_1_to_{count}) AS numbers",
    },
    "sqlite": {
        "message_id": """printf('0195%04x-%04x-7000-8', n / 65536, n % 65536)
    || lower(hex(randomblob(8)))""",
        "aggregate_id": "'{of}-' || (n % {aggregates})",
        "claim_token": "'{prefix}-batch-' || (n % ({count} / 200 + 1))",
        "payload": "'{payload_text}' || n || '}'",
        "instant": "strftime('%Y-%m-%d %H:%M:%f', 'now', '-{age} seconds') || '000'",
        "numbers": """(WITH RECURSIVE numbers (n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) SELECT n FROM numbers)""",
    },
}


@attrs.frozen(kw_only=True)
class Rows:
    """What is filled in.

    Attributes:
        count: How many rows.
        aggregates: Over how many aggregates they go round; ``None``: each has its own.
        prefix: Of the aggregates' ids; no two fillings of one table share it.
        of: The prefix of an earlier filling, to whose aggregates these rows belong.
        status: ``PENDING``, ``SENT`` or ``FAILED``.
        age_seconds: How long ago they were stored, and have been due since.
    """

    count: int
    aggregates: int | None = None
    prefix: str = "order"
    of: str | None = None
    status: str = "PENDING"
    age_seconds: int = 60


def fill(database: BenchDatabase, *wanted: Rows) -> None:
    """Put rows into the outbox, and have the database look at what it holds by then."""
    insert(database, *wanted)
    database.analyze()


def insert(database: BenchDatabase, *wanted: Rows) -> None:
    """Put rows into the outbox, and leave the database with what it has known of it before."""
    for rows in wanted:
        with database.engine.begin() as connection:
            connection.exec_driver_sql(_statement(database, rows))


def refill(database: BenchDatabase, *wanted: Rows) -> None:
    """Do the same in an empty outbox."""
    database.empty()
    fill(database, *wanted)


def _statement(database: BenchDatabase, rows: Rows) -> str:
    values = {
        "outbox": database.outbox.name,
        "headers": _HEADERS,
        "payload_text": _PAYLOAD,
        "status": rows.status,
        "prefix": rows.prefix,
        "of": rows.of or rows.prefix,
        "aggregates": str(rows.aggregates or rows.count),
        "age": str(rows.age_seconds),
        "count": str(rows.count),
    }
    text = _INSERT
    for name, value in (_DIALECTS[database.kind] | values).items():
        text = text.replace("{" + name + "}", value)
    return text
