"""The SQL of the inbox that keeps a row for each event."""

from collections.abc import Mapping
from typing import Any

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from pragmatic_ddd_sqlalchemy.dialects.table_sql import TableSql, is_duplicate

_INSERT = """
INSERT INTO {table} (subscriber, message_id, handled_at) VALUES (:subscriber, :message_id, {now})
"""
_OR_NOTHING = "ON CONFLICT (subscriber, message_id) DO NOTHING"

_PURGE = {
    # Not WHERE … IN (SELECT … LIMIT): a plan may run that once for each row, and delete more.
    "postgresql": """
WITH old AS (
    SELECT h.subscriber, h.message_id FROM {table} AS h
    WHERE h.handled_at
        <= (SELECT clock_timestamp() - make_interval(secs => CAST(:older_than AS float)))
    ORDER BY h.handled_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
DELETE FROM {table} AS d USING old
WHERE d.subscriber = old.subscriber AND d.message_id = old.message_id
""",
    "mysql": """
DELETE FROM {table} WHERE handled_at <= UTC_TIMESTAMP(6) - INTERVAL :older_than SECOND
ORDER BY handled_at LIMIT :limit
""",
    "sqlite": """
DELETE FROM {table} WHERE rowid IN (
    SELECT h.rowid FROM {table} AS h
    WHERE h.handled_at
        <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.6f seconds', -:older_than)) || '000'
    ORDER BY h.handled_at LIMIT :limit
)
""",
}


@attrs.frozen(eq=False)
class InboxSql:
    """The statements for one table, whatever database a connection leads to.

    Attributes:
        table: Made by ``inbox_table``.
    """

    table: sa.Table
    _insert: TableSql = attrs.field(init=False)
    _purge: TableSql = attrs.field(init=False)

    @_insert.default
    def _make_insert(self) -> TableSql:
        # INSERT IGNORE would swallow what is cut as well.
        quiet = f"{_INSERT} {_OR_NOTHING}"
        return TableSql(self.table, {"postgresql": quiet, "mysql": _INSERT, "sqlite": quiet})

    @_purge.default
    def _make_purge(self) -> TableSql:
        return TableSql(self.table, _PURGE)

    def insert(self, connection: sa.Connection, key: Mapping[str, Any]) -> bool:
        """Insert a row; return ``False`` where it is there already.

        Waits for the end of a transaction that has inserted the same.
        """
        try:
            return self._insert.on(connection).execute(connection, key).rowcount == 1
        except IntegrityError as error:
            # On MySQL and MariaDB, which undo the statement alone. Others say it by the count.
            if is_duplicate(error):
                return False
            raise

    def purge(self, connection: sa.Connection, older_than_seconds: float, limit: int) -> int:
        """Delete the oldest rows; return how many."""
        parameters = {"older_than": older_than_seconds, "limit": limit}
        return self._purge.on(connection).execute(connection, parameters).rowcount
