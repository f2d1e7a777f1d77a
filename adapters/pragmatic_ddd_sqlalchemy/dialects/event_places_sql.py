"""The SQL that moves the last places of aggregates, and says where they were."""

from collections.abc import Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.table_sql import TableSql

# A place that does not grow is that of a new aggregate with the id of one that is gone.
_POSTGRESQL = """
INSERT INTO {table} AS p (aggregate_type, aggregate_id, epoch, aggregate_version, event_index)
SELECT b.aggregate_type, b.aggregate_id, 0, b.version, b.event_index
FROM jsonb_to_recordset(CAST(CAST(:batch AS text) AS jsonb))
    AS b (aggregate_type text, aggregate_id text, version bigint, event_index integer)
ON CONFLICT (aggregate_type, aggregate_id) DO UPDATE SET
    epoch = CASE WHEN excluded.aggregate_version > p.aggregate_version
        THEN p.epoch ELSE p.epoch + 1 END,
    previous_version = p.aggregate_version,
    previous_index = p.event_index,
    aggregate_version = excluded.aggregate_version,
    event_index = excluded.event_index
RETURNING aggregate_type, aggregate_id, epoch, previous_version, previous_index
"""

# WHERE true: else ON would be taken for that of a join.
_SQLITE = """
INSERT INTO {table} AS p (aggregate_type, aggregate_id, epoch, aggregate_version, event_index)
SELECT json_extract(value, '$.aggregate_type'), json_extract(value, '$.aggregate_id'), 0,
    json_extract(value, '$.version'), json_extract(value, '$.event_index')
FROM json_each(:batch) WHERE true
ON CONFLICT (aggregate_type, aggregate_id) DO UPDATE SET
    epoch = CASE WHEN excluded.aggregate_version > p.aggregate_version
        THEN p.epoch ELSE p.epoch + 1 END,
    previous_version = p.aggregate_version,
    previous_index = p.event_index,
    aggregate_version = excluded.aggregate_version,
    event_index = excluded.event_index
RETURNING aggregate_type, aggregate_id, epoch, previous_version, previous_index
"""

_FRAGMENTS = {
    "places": """JSON_TABLE(:batch, '$[*]' COLUMNS (
    aggregate_type VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.aggregate_type',
    aggregate_id VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.aggregate_id',
    version BIGINT PATH '$.version', event_index INT PATH '$.event_index')) AS b"""
}

# Assigned from left to right: what is assigned later still has its old value.
_MYSQL = """
INSERT INTO {table} (aggregate_type, aggregate_id, epoch, aggregate_version, event_index)
SELECT b.aggregate_type, b.aggregate_id, 0, b.version, b.event_index
FROM {places}
ON DUPLICATE KEY UPDATE
    epoch = CASE WHEN VALUES(aggregate_version) > {table}.aggregate_version
        THEN {table}.epoch ELSE {table}.epoch + 1 END,
    previous_version = {table}.aggregate_version,
    previous_index = {table}.event_index,
    aggregate_version = VALUES(aggregate_version),
    event_index = VALUES(event_index)
"""

# Its own rows, which it has just written and locked: no snapshot is too old for them.
_READ_BACK = """
SELECT p.aggregate_type, p.aggregate_id, p.epoch, p.previous_version, p.previous_index
FROM {places}
STRAIGHT_JOIN {table} AS p
    ON p.aggregate_type = b.aggregate_type AND p.aggregate_id = b.aggregate_id
"""

Moved = tuple[str, str, int, int | None, int | None]


@attrs.frozen(eq=False)
class EventPlacesSql:
    """The statements for one table, whatever database a connection leads to.

    Attributes:
        table: Made by ``event_places_table``.
    """

    table: sa.Table
    _move: TableSql = attrs.field(init=False)
    _read_back: TableSql = attrs.field(init=False)

    @_move.default
    def _make_move(self) -> TableSql:
        texts = {"postgresql": _POSTGRESQL, "mysql": _MYSQL, "sqlite": _SQLITE}
        return TableSql(self.table, texts, _FRAGMENTS)

    @_read_back.default
    def _make_read_back(self) -> TableSql:
        return TableSql.alike(self.table, _READ_BACK, _FRAGMENTS)

    def move(self, connection: sa.Connection, batch: str) -> Sequence[Moved]:
        """Write places, as JSON; return epochs, and the places before, by aggregate."""
        parameters = {"batch": batch}
        written: sa.CursorResult[Any] = self._move.on(connection).execute(connection, parameters)
        if not written.returns_rows:
            written = self._read_back.on(connection).execute(connection, parameters)
        return [tuple(row) for row in written]
