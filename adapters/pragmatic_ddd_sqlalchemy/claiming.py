"""Claim, verify, publish: how rows become somebody's without one overtaking another.

1. Lock due rows of whose aggregate no older row is hindered (owned, waiting for a retry, or
   FAILED), passing over those that others have locked.
2. In a later statement, whose snapshot is new, find for each aggregate the oldest unsent row
   that is not locked here, and take only what is before it.

A row that was passed over, or that has become unsent-and-owned since the first statement, is
thus seen by the second. Who owns a row and has seen every older one sent, or owns them too, can
never be overtaken: nothing older becomes unsent again.

A row that cannot be read, because a person or another program has written it, becomes a dead
letter at once: it must not keep the others from being claimed.
"""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from operator import itemgetter

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import ClaimedMessage
from pragmatic_ddd_sqlalchemy.dead_letters import bury
from pragmatic_ddd_sqlalchemy.dialects import IOutboxDialect
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked, LockedRow, aggregates_json
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.own_transactions import OwnTransactions
from pragmatic_ddd_sqlalchemy.row_limits import NOBODY, shortened
from pragmatic_ddd_sqlalchemy.rows import as_json, claimed_of
from pragmatic_ddd_sqlalchemy.table import LONGEST_ERROR

_logger = logging.getLogger(__name__)

# A claim that has got nothing, but has put a straggler in its place or buried a row, looks again.
_ROUNDS = 3


@attrs.frozen
class Claiming:
    """Takes rows of one table."""

    dialect: IOutboxDialect
    transactions: OwnTransactions

    def claim_pending(
        self, batch_size: int, lease_seconds: float, confirmed_token: str | None
    ) -> list[ClaimedMessage]:
        """Take due rows, the first due first.

        Rows whose owner let the lease lapse come apart from others, and alone from the second
        time on. Rows with the confirmed token count as SENT: their marks are under way.
        """
        confirmed = confirmed_token or NOBODY

        def claim(connection: sa.Connection) -> tuple[list[ClaimedMessage], int]:
            started = time.monotonic()
            parameters = {"limit": batch_size, "confirmed": confirmed}
            rows = _lock(connection, self.dialect.statements.lock_due, parameters)
            locked = Locked(_of_one_kind(rows))
            taken, buried = self._take(connection, locked, started, lease_seconds, confirmed)
            moved = buried
            if len(taken) < len(locked.rows):
                moved += self._put_in_place(connection, locked, batch_size)
            return taken, moved

        for _ in range(_ROUNDS):
            taken, moved = self.transactions.write(claim)
            if taken or not moved:
                return taken
        return []

    def claim(self, ids: Sequence[int], lease_seconds: float) -> list[ClaimedMessage]:
        """Take those of the rows that nobody owns and that have not failed."""
        batch = as_json(sorted(set(ids)))

        def claim(connection: sa.Connection) -> list[ClaimedMessage]:
            started = time.monotonic()
            rows = _lock(connection, self.dialect.statements.lock_ids, {"batch": batch})
            taken, _ = self._take(connection, Locked(rows), started, lease_seconds, NOBODY)
            return taken

        return self.transactions.write(claim) if ids else []

    def _take(
        self,
        connection: sa.Connection,
        locked: Locked,
        started: float,
        lease_seconds: float,
        confirmed: str,
    ) -> tuple[list[ClaimedMessage], int]:
        """Return what was taken, and how many rows turned out to be unreadable."""
        if not locked.rows:
            return [], 0
        token = secrets.token_hex(16)
        rows = self.dialect.take(
            connection,
            locked,
            claim_token=token,
            lease_seconds=lease_seconds,
            confirmed_token=confirmed,
        )
        taken_over = any(row.lapsed for row in locked.rows)  # or none of them
        deadline = started + lease_seconds
        taken: list[ClaimedMessage] = []
        unreadable: dict[int, ValueError] = {}
        for row in sorted(rows, key=_id):
            try:
                taken.append(
                    claimed_of(row, claim_token=token, deadline=deadline, taken_over=taken_over)
                )
            except ValueError as error:
                unreadable[row[0]] = error
        if not unreadable:
            return taken, 0
        free = self._bury(connection, locked, token, unreadable)
        return [one for one in taken if one.id not in free], len(unreadable)

    def _bury(
        self,
        connection: sa.Connection,
        locked: Locked,
        token: str,
        unreadable: Mapping[int, ValueError],
    ) -> set[int]:
        """Make dead letters, and give back what they block; return the rows given back."""
        places = {row.id: place for row, place in zip(locked.rows, locked.places, strict=True)}
        first_bad = {places[row_id]: row_id for row_id in sorted(unreadable, reverse=True)}
        free = {
            row_id
            for row_id, place in places.items()
            if row_id > first_bad.get(place, row_id) and row_id not in unreadable
        }
        statements = self.dialect.statements
        given_back = [{"id": row_id, "claim_token": token} for row_id in sorted(free)]
        statements.release.execute(connection, {"batch": as_json(given_back)})
        failed = [
            {
                "id": row_id,
                "claim_token": token,
                "error": shortened(f"cannot be read: {error}", LONGEST_ERROR),
                "counted": 0,
            }
            for row_id, error in sorted(unreadable.items())
        ]
        bury(connection, self.dialect, failed)
        for row_id, error in unreadable.items():
            aggregate = locked.aggregates[places[row_id]]
            _logger.error(
                "row %d of %s %s cannot be read, is FAILED and blocks its aggregate: %s",
                row_id,
                aggregate.aggregate_type,
                aggregate.aggregate_id,
                error,
            )
        return free

    def _put_in_place(self, connection: sa.Connection, locked: Locked, batch_size: int) -> int:
        """Make older rows due before the younger ones that could not be taken because of them.

        Else, with enough of the younger ones, every claim would find these and no other.
        """
        statements = self.dialect.statements
        stragglers = statements.lock_stragglers.execute(
            connection,
            {"aggregates": aggregates_json(locked), "limit": batch_size},
        ).all()
        moves = [{"id": row_id, "due_at": str(due_at)} for row_id, due_at in stragglers]
        if moves:
            statements.move_due.execute(connection, {"batch": as_json(moves)})
        return len(moves)


def _lock(
    connection: sa.Connection, statement: Sql, parameters: dict[str, object]
) -> list[LockedRow]:
    rows = statement.execute(connection, parameters).all()
    if not rows or len(rows[0]) == len(LockedRow._fields) - 1:  # the marking statement returns them
        return [LockedRow(*row) for row in rows]
    return [LockedRow._make((*row[:6], row[6:])) for row in rows]


def _of_one_kind(rows: Sequence[LockedRow]) -> Sequence[LockedRow]:
    """Return the first row, and those that may be sent with it.

    A message that kills its process brings down whatever is in the same batch. The first lapse
    may have any reason, and is as a rule of many rows at once: they come back together. From the
    second on each is a suspect, and comes alone.
    """
    if rows and _is_suspect(rows[0]):
        return rows[:1]
    return [row for row in rows if row.lapsed == rows[0].lapsed and not _is_suspect(row)]


def _is_suspect(row: LockedRow) -> bool:
    return row.lapsed and row.tried


_id = itemgetter(0)
