"""The SQL of the inbox that keeps a row for each aggregate."""

from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.event_place import EventPlace
from pragmatic_ddd_sqlalchemy.dialects.table_sql import TableSql

_FRAGMENTS = {
    "to": """epoch = :epoch, aggregate_version = :aggregate_version, event_index = :event_index,
    handled_at = {now}""",
    "it": """subscriber = :subscriber AND aggregate_type = :aggregate_type
    AND aggregate_id = :aggregate_id""",
}
_MOVE = "UPDATE {table} SET {to} WHERE {it}"
_ADVANCE = """
UPDATE {table} SET {to}
WHERE {it} AND epoch = :from_epoch AND aggregate_version = :from_aggregate_version
    AND event_index = :from_event_index
"""
_LOOK = "SELECT epoch, aggregate_version, event_index FROM {table} WHERE {it} {for_update}"
# One statement. What it does not move it has locked all the same.
_UPSERT = """
INSERT INTO {table} AS t (subscriber, aggregate_type, aggregate_id, epoch, aggregate_version,
    event_index, handled_at)
VALUES (:subscriber, :aggregate_type, :aggregate_id, :epoch, :aggregate_version, :event_index,
    {now})
ON CONFLICT (subscriber, aggregate_type, aggregate_id) DO UPDATE SET {to}
WHERE (t.epoch, t.aggregate_version, t.event_index) < (:epoch, :aggregate_version, :event_index)
"""
# MySQL and MariaDB do not say whether they have inserted or left a row as it was. So it is there
# first, at a place before all others, and then moved. The assignment changes nothing, and locks.
_OPEN = """
INSERT INTO {table} (subscriber, aggregate_type, aggregate_id, epoch, aggregate_version,
    event_index, handled_at)
VALUES (:subscriber, :aggregate_type, :aggregate_id, 0, 0, 0, {now})
ON DUPLICATE KEY UPDATE epoch = epoch
"""
_RAISE = """
UPDATE {table} SET {to}
WHERE {it} AND (epoch, aggregate_version, event_index)
    < (:epoch, :aggregate_version, :event_index)
"""

Row = dict[str, Any]


@attrs.frozen(eq=False)
class WatermarkSql:
    """The statements for one table, whatever database a connection leads to.

    Attributes:
        table: Made by ``watermark_table``.
    """

    table: sa.Table
    _advance: TableSql = attrs.field(init=False)
    _look: TableSql = attrs.field(init=False)
    _move: TableSql = attrs.field(init=False)
    _open: TableSql = attrs.field(init=False)
    _raise: TableSql = attrs.field(init=False)

    @_advance.default
    def _make_advance(self) -> TableSql:
        return TableSql.alike(self.table, _ADVANCE, _FRAGMENTS)

    @_look.default
    def _make_look(self) -> TableSql:
        return TableSql.alike(self.table, _LOOK, _FRAGMENTS)

    @_move.default
    def _make_move(self) -> TableSql:
        return TableSql.alike(self.table, _MOVE, _FRAGMENTS)

    @_open.default
    def _make_open(self) -> TableSql:
        return TableSql(self.table, {"mysql": _OPEN})

    @_raise.default
    def _make_raise(self) -> TableSql:
        texts = {"postgresql": _UPSERT, "mysql": _RAISE, "sqlite": _UPSERT}
        return TableSql(self.table, texts, _FRAGMENTS)

    def advance(self, connection: sa.Connection, row: Row, origin: Row) -> bool:
        """Move a row from a place to another; return ``False`` where it is not at the first."""
        parameters = row | {f"from_{name}": value for name, value in origin.items()}
        return self._advance.on(connection).execute(connection, parameters).rowcount == 1

    def raise_to(self, connection: sa.Connection, row: Row) -> bool:
        """Move a row, or insert it; return ``False`` where it is at that place, or a later one."""
        if self._open.is_for(connection):
            self._open.on(connection).execute(connection, row)
        return self._raise.on(connection).execute(connection, row).rowcount == 1

    def look(self, connection: sa.Connection, row: Row) -> EventPlace | None:
        """Lock a row, and return its place; ``None``: there is none."""
        found = self._look.on(connection).execute(connection, row).one_or_none()
        if found is None:
            return None
        epoch, version, index = found
        return EventPlace(epoch=epoch, version=version, index=index)

    def move(self, connection: sa.Connection, row: Row) -> None:
        """Give a locked row another place."""
        self._move.on(connection).execute(connection, row)
