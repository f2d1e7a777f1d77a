"""Draining by hand in MariaDB, over the driver that the product has: PyMySQL.

Locks and reads in one statement, at READ COMMITTED; claims by a list of ids; marks, fenced by
the token, in one statement with all receipts.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import attrs
import pymysql
import sqlalchemy as sa

from tests import servers
from tests.benchmarks.databases import BenchDatabase
from tests.benchmarks.handwritten_postgresql import message_of, publish

_Confirmed = Sequence[tuple[int, str]]

_COLUMNS = """id, message_id, aggregate_type, aggregate_id, aggregate_version, event_index,
    event_type, event_version, payload, headers"""

_LOCK = """
SELECT {columns} FROM {outbox} WHERE due_sort <= UTC_TIMESTAMP(6)
ORDER BY due_sort, id LIMIT 200 FOR UPDATE SKIP LOCKED
"""

_TAKE = """
UPDATE {outbox} SET status = 'PROCESSING', claim_token = %s, claimed_at = UTC_TIMESTAMP(6),
    due_at = UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
WHERE id IN %s
"""

# Faster than a join with JSON_TABLE, and no slower than the same without any receipt.
_MARK = """
UPDATE {outbox} SET status = 'SENT', sent_at = UTC_TIMESTAMP(6),
    receipt = ELT(FIELD(id, {ids}), {receipts})
WHERE id IN ({ids}) AND claim_token = %s AND status = 'PROCESSING'
"""


@attrs.frozen(kw_only=True)
class HandwrittenMariaDb:
    """Loops over one table. Each returns how many seconds it has taken for so many rows."""

    connection: "pymysql.Connection[Any]"
    outbox: str

    @classmethod
    @contextmanager
    def on(cls, database: BenchDatabase) -> Iterator[Self]:
        url = sa.make_url(servers.mariadb_url())
        with pymysql.connect(
            host=url.host,
            port=url.port or 3306,
            user=url.username,
            password=url.password or "",
            database=url.database,
            charset="utf8mb4",
            init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ) as connection:
            yield cls(connection=connection, outbox=database.outbox.name)

    def drain(self, rows: int) -> float:
        """Keep no order."""
        return self._drain(rows, self._mark)

    def drain_row_by_row(self, rows: int) -> float:
        """Mark each row in a transaction of its own."""
        return self._drain(rows, self._mark_each)

    def _drain(self, rows: int, mark: Callable[[str, _Confirmed], int]) -> float:
        started = time.perf_counter()
        while rows > 0:
            token = secrets.token_hex(16)
            messages = [message_of(row) for row in self._claim(token)]
            ids = [message.id for message in messages]
            rows -= mark(token, list(zip(ids, publish(messages), strict=True)))
        return time.perf_counter() - started

    def _claim(self, token: str) -> Sequence[Sequence[Any]]:
        with self.connection.cursor() as cursor:
            cursor.execute(_LOCK.format(columns=_COLUMNS, outbox=self.outbox))
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
            cursor.execute(_TAKE.format(outbox=self.outbox), (token, [row[0] for row in rows]))
        self.connection.commit()
        return rows

    def _mark(self, token: str, confirmed: _Confirmed) -> int:
        ids = ",".join(str(row_id) for row_id, _ in confirmed)
        receipts = ",".join(self.connection.escape(receipt) for _, receipt in confirmed)
        statement = _MARK.format(outbox=self.outbox, ids=ids, receipts=receipts)
        with self.connection.cursor() as cursor:
            marked: int = cursor.execute(statement, (token,))
        self.connection.commit()
        return marked

    def _mark_each(self, token: str, confirmed: _Confirmed) -> int:
        return sum(self._mark(token, [one]) for one in confirmed)
