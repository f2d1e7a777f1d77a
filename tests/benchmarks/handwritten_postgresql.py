"""Draining by hand in PostgreSQL: what a very good engineer writes who needs nothing else.

psycopg 3, prepared statements, arrays in binary, one statement to claim 200 rows, and one,
fenced by the token, to mark them with their receipts. Each commits by itself.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import attrs
import psycopg
import sqlalchemy as sa

from tests import servers
from tests.benchmarks.databases import BenchDatabase, server_options
from tests.benchmarks.publisher import RECEIPT

BATCH = 200

_COLUMNS = """o.id, o.message_id, o.aggregate_type, o.aggregate_id, o.aggregate_version,
    o.event_index, o.event_type, o.event_version, o.payload, o.headers"""

_CLAIMED = """status = 'PROCESSING', claim_token = %(token)s, claimed_at = now(),
    due_at = now() + interval '60 seconds'"""

_CLAIM = """
WITH due AS MATERIALIZED (
    SELECT id FROM {outbox} WHERE status IN ('PENDING', 'PROCESSING') AND due_at <= now()
    ORDER BY due_at, id LIMIT 200 FOR UPDATE SKIP LOCKED
)
UPDATE {outbox} AS o SET {claimed} FROM due WHERE o.id = due.id RETURNING {columns}
"""

_LOCK = """
SELECT o.id, o.aggregate_id FROM {outbox} AS o
WHERE o.status IN ('PENDING', 'PROCESSING') AND o.due_at <= now() AND NOT EXISTS (
    SELECT 1 FROM {outbox} AS p
    WHERE p.aggregate_type = o.aggregate_type AND p.aggregate_id = o.aggregate_id AND p.id < o.id
        AND p.status NOT IN ('SENT', 'SKIPPED')
        AND (p.status <> 'PENDING' OR p.failures > 0 OR p.claim_token IS NOT NULL))
ORDER BY o.due_at, o.id LIMIT 200 FOR UPDATE SKIP LOCKED
"""

_TAKE = """
WITH mine AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::bigint[], %(aggregates)s::text[]) AS m (id, aggregate_id)
), gaps AS MATERIALIZED (
    SELECT top.aggregate_id, (
        SELECT p.id FROM {outbox} AS p
        WHERE p.aggregate_type = 'bench.order' AND p.aggregate_id = top.aggregate_id
            AND p.id < top.id AND p.status NOT IN ('SENT', 'SKIPPED')
            AND p.id <> ALL (%(ids)s::bigint[])
        ORDER BY p.id LIMIT 1
    ) AS id
    FROM (SELECT aggregate_id, max(id) AS id FROM mine GROUP BY aggregate_id) AS top
)
UPDATE {outbox} AS o SET {claimed} FROM mine JOIN gaps USING (aggregate_id)
WHERE o.id = mine.id AND (gaps.id IS NULL OR mine.id < gaps.id) RETURNING {columns}
"""

_MARK = """
UPDATE {outbox} AS o SET status = 'SENT', sent_at = now(), receipt = b.receipt
FROM unnest(%(ids)s::bigint[], %(receipts)s::text[]) AS b (id, receipt)
WHERE o.id = b.id AND o.claim_token = %(token)s AND o.status = 'PROCESSING'
"""

_MARK_ONE = """
UPDATE {outbox} SET status = 'SENT', sent_at = now(), receipt = %(receipt)s
WHERE id = %(id)s AND claim_token = %(token)s AND status = 'PROCESSING'
"""


class Message(NamedTuple):
    """What is published of a row."""

    id: int
    message_id: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    event_index: int
    event_type: str
    event_version: int
    payload: bytes
    headers: dict[str, str]


Publish = Callable[[Sequence[Message]], Sequence[str]]


def message_of(row: Sequence[Any]) -> Message:
    *places, payload, headers = row
    return Message._make((*places, payload.encode(), json.loads(headers)))


def publish(messages: Sequence[Message]) -> Sequence[str]:
    """Confirm them at once."""
    return [RECEIPT] * len(messages)


@attrs.frozen(kw_only=True)
class HandwrittenPostgreSql:
    """Loops over one table. Each returns how many seconds it has taken for so many rows."""

    connection: psycopg.Connection[Any]
    statements: Mapping[str, bytes]

    @classmethod
    @contextmanager
    def on(cls, database: BenchDatabase) -> Iterator[Self]:
        url = sa.make_url(servers.postgresql_url()).set(drivername="postgresql")
        texts = {"claim": _CLAIM, "lock": _LOCK, "take": _TAKE, "mark": _MARK, "one": _MARK_ONE}
        names = {"outbox": database.outbox.name, "columns": _COLUMNS, "claimed": _CLAIMED}
        with psycopg.connect(
            url.render_as_string(hide_password=False),
            options=server_options(synchronous=database.synchronous),
            autocommit=True,
            prepare_threshold=0,
        ) as connection:
            yield cls(
                connection=connection,
                statements={key: text.format(**names).encode() for key, text in texts.items()},
            )

    def drain(self, rows: int) -> float:
        """Keep no order: one statement claims."""
        return self._drain(rows, self._claim, self._mark)

    def drain_in_order(self, rows: int, publish: Publish = publish) -> float:
        """Keep the order within each aggregate: claim, verify, publish."""
        return self._drain(rows, self._claim_in_order, self._mark, publish)

    def drain_row_by_row(self, rows: int) -> float:
        """Mark each row in a transaction of its own."""
        return self._drain(rows, self._claim, self._mark_each)

    def _drain(
        self,
        rows: int,
        claim: Callable[[str], Sequence[Sequence[Any]]],
        mark: Callable[[str, Iterable[tuple[int, str]]], int],
        publish: Publish = publish,
    ) -> float:
        started = time.perf_counter()
        while rows > 0:
            token = secrets.token_hex(16)
            messages = [message_of(row) for row in claim(token)]
            receipts = publish(messages)
            ids = [message.id for message in messages]
            rows -= mark(token, zip(ids, receipts, strict=True))
        return time.perf_counter() - started

    def _claim(self, token: str) -> Sequence[Sequence[Any]]:
        return self._execute("claim", {"token": token}).fetchall()

    def _claim_in_order(self, token: str) -> Sequence[Sequence[Any]]:
        with self.connection.transaction():
            locked = self._execute("lock", {}).fetchall()
            ids, aggregates = [row[0] for row in locked], [row[1] for row in locked]
            parameters = {"ids": ids, "aggregates": aggregates, "token": token}
            return sorted(self._execute("take", parameters).fetchall())

    def _mark(self, token: str, confirmed: Iterable[tuple[int, str]]) -> int:
        ids, receipts = zip(*confirmed, strict=True)
        parameters = {"ids": list(ids), "receipts": list(receipts), "token": token}
        return self._execute("mark", parameters).rowcount

    def _mark_each(self, token: str, confirmed: Iterable[tuple[int, str]]) -> int:
        return sum(
            self._execute("one", {"id": row_id, "receipt": receipt, "token": token}).rowcount
            for row_id, receipt in confirmed
        )

    def _execute(self, name: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[Any]:
        return self.connection.execute(self.statements[name], parameters, binary=True)
