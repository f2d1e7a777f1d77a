"""What keeps the outbox tidy, and what people do with dead letters."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.statements import Statements
from pragmatic_ddd_sqlalchemy.own_transactions import OwnTransactions
from pragmatic_ddd_sqlalchemy.rows import Row, as_json, shortened, unique
from pragmatic_ddd_sqlalchemy.table import LONGEST_ERROR

# As many rows as a claim may have to pass over without anybody noticing.
_TIDIED_AT_ONCE = 5000


@attrs.frozen
class Maintenance:
    """Bounded work, each call in one short transaction (``tidy``: two)."""

    statements: Statements[sa.TextClause]
    transactions: OwnTransactions
    horizon: dt.timedelta

    def tidy(self) -> int:
        """Park what waits behind a FAILED row, and bring back what is due too late."""
        limit = {"limit": _TIDIED_AT_ONCE}
        horizon = {"horizon": self.horizon.total_seconds()}
        statements = self.statements
        parked = self._change(statements.lock_newcomers, limit, statements.park, {})
        back = self._change(
            statements.lock_strays, {**limit, **horizon}, statements.bring_back, horizon
        )
        return parked + back

    def purge(self, older_than: dt.timedelta, batch_size: int) -> int:
        """Delete rows that ended long ago."""
        return self._change(
            self.statements.lock_ended,
            {"older_than": older_than.total_seconds(), "limit": batch_size},
            self.statements.delete,
            {},
        )

    def replay(self, message_ids: Sequence[str], *, out_of_order: bool) -> int:
        """Make dead letters PENDING, and what they blocked due."""
        return self._revive(message_ids, self.statements.replay, {}, also_skipped=out_of_order)

    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        """Make dead letters SKIPPED, and what they blocked due."""
        note = shortened(f"skipped by {by}: {reason}", LONGEST_ERROR)
        return self._revive(
            message_ids,
            self.statements.skip,
            {"note": note, "length": LONGEST_ERROR},
            also_skipped=False,
        )

    def _change(
        self,
        lock: sa.TextClause,
        lock_parameters: Mapping[str, object],
        change: sa.TextClause,
        parameters: Mapping[str, object],
    ) -> int:
        def work(connection: sa.Connection) -> int:
            ids = connection.execute(lock, lock_parameters).scalars().all()
            if ids:
                connection.execute(change, {**parameters, "batch": as_json(sorted(ids))})
            return len(ids)

        return self.transactions.write(work)

    def _revive(
        self,
        message_ids: Sequence[str],
        change: sa.TextClause,
        parameters: Mapping[str, object],
        *,
        also_skipped: bool,
    ) -> int:
        dead = {"batch": as_json(unique(message_ids)), "also_skipped": also_skipped}

        def work(connection: sa.Connection) -> int:
            rows = connection.execute(self.statements.lock_dead, dead).all()
            if rows:
                ids = as_json(sorted(row_id for row_id, *_ in rows))
                connection.execute(change, {**parameters, "batch": ids})
                self._wake(connection, rows)
            return len(rows)

        return self.transactions.write(work) if message_ids else 0

    def _wake(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        batch = as_json(_aggregates(rows))
        parked = connection.execute(self.statements.lock_parked, {"batch": batch}).scalars().all()
        if parked:
            connection.execute(self.statements.wake, {"batch": as_json(sorted(parked))})


def _aggregates(rows: Sequence[Row]) -> list[dict[str, Any]]:
    aggregates = dict.fromkeys((kind, key) for _, kind, key in rows)
    return [{"aggregate_type": kind, "aggregate_id": key} for kind, key in aggregates]
