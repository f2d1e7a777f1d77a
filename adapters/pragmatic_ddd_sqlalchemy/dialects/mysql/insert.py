"""How rows are born in MySQL and MariaDB: reserved first, inserted together, ids read back.

The reservation is a plain SELECT: a subquery of the INSERT on its own table fails on the
auto-increment, and one INSERT … RETURNING there is not.
"""

from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.connection_capacity import refuse_oversized
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.dialects.insert_parameters import ownable
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import named, names_of
from pragmatic_ddd_sqlalchemy.rows import as_json, batches

_FRAGMENTS = {
    "texts": "JSON_TABLE(:batch, '$[*]' COLUMNS (value {key} PATH '$')) AS b",
    "key": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
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


@attrs.frozen(kw_only=True)
class MySqlInsert:
    """Inserts rows of one table."""

    _clock: Sql
    _reserve_mariadb: Sql
    _reserve_mysql: Sql
    _insert: Sql
    _inserted: Sql

    @classmethod
    def for_table(cls, table: sa.Table, dialect: sa.Dialect) -> Self:
        """Put the table's names into the SQL."""
        names = _FRAGMENTS | names_of(table, dialect)
        return cls(
            clock=named(_CLOCK, names),
            reserve_mariadb=named(_RESERVE, names | {"isolation": "@@tx_isolation"}),
            reserve_mysql=named(_RESERVE, names | {"isolation": "@@transaction_isolation"}),
            insert=named(_INSERT, names),
            inserted=named(_INSERTED, names),
        )

    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        """Insert rows in the given order, each owned if it may be."""
        refuse_oversized(connection, rows)
        births = self._births(connection, rows, reservation)
        self._insert.execute_many(
            connection, [row | born for row, born in zip(rows, births, strict=True)]
        )
        owned = {
            row["message_id"]: born["claim_token"] is not None
            for row, born in zip(rows, births, strict=True)
        }
        return {
            row.message_id: Inserted(id=row.id, owned=owned[row.message_id])
            for batch in batches(list(owned))
            for row in self._inserted.execute(connection, {"batch": batch})
        }

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
            clock = self._clock.execute(connection).scalar_one()
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
        reserve = self._reserve_mariadb if is_mariadb(connection.dialect) else self._reserve_mysql
        return reserve.execute(connection, parameters).all()


def is_mariadb(dialect: sa.Dialect) -> bool:
    """Say whether the server that the dialect has met is MariaDB."""
    return bool(getattr(dialect, "is_mariadb", False))


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
