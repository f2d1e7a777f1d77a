"""What keeps the outbox tidy, and what people do with dead letters."""

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_words, checked_ids
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements
from pragmatic_ddd_sqlalchemy.own_transactions import OwnTransactions, pause
from pragmatic_ddd_sqlalchemy.row_limits import shortened, unique
from pragmatic_ddd_sqlalchemy.rows import Row, as_json
from pragmatic_ddd_sqlalchemy.table import LONGEST_ERROR

_logger = logging.getLogger(__name__)

# As many rows as a claim may have to pass over without anybody noticing.
_TIDIED_AT_ONCE = 5000
_LOOKED_AHEAD = 500

# How often it is looked for rows that somebody had locked when they were to be woken.
_WAKING_TRIES = 8


@attrs.frozen
class Maintenance:
    """Bounded work in short transactions."""

    statements: Statements[Sql]
    transactions: OwnTransactions
    horizon: dt.timedelta

    def tidy(self) -> int:
        """Park what waits behind a FAILED row, and bring back what is due too late."""
        return self.transactions.write(self._park) + self._bring_back()

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
        check_words("by", by)
        check_words("reason", reason)
        note = shortened(f"skipped by {by}: {reason}", LONGEST_ERROR)
        return self._revive(
            message_ids,
            self.statements.skip,
            {"note": note, "length": LONGEST_ERROR},
            also_skipped=False,
        )

    def _park(self, connection: sa.Connection) -> int:
        """Park newcomers, but only behind what is sure to be FAILED still when they are parked.

        Else one that is parked just as its head is skipped would wait in vain. Who replays or
        skips waits for the heads locked here, and sees then what was parked.
        """
        statements = self.statements
        limit = {"limit": _TIDIED_AT_ONCE}
        newcomers = statements.lock_newcomers.execute(connection, limit).all()
        if not newcomers:
            return 0
        batch = {"batch": as_json(_aggregates(newcomers))}
        heads: dict[tuple[str, str], int] = {}
        for head, kind, key in statements.lock_heads.execute(connection, batch):
            heads[kind, key] = min(head, heads.get((kind, key), head))
        ids = sorted(
            row_id for row_id, kind, key in newcomers if heads.get((kind, key), row_id) < row_id
        )
        if ids:
            statements.park.execute(connection, {"batch": as_json(ids)})
        return len(ids)

    def _bring_back(self) -> int:
        statements = self.statements
        horizon = {"horizon": self.horizon.total_seconds()}
        back = self._change(
            statements.lock_strays,
            {"limit": _TIDIED_AT_ONCE, **horizon},
            statements.bring_back,
            horizon,
        )
        # Mostly there is none ahead: that is to cost next to nothing, whatever else waits.
        for _ in range(_TIDIED_AT_ONCE // _LOOKED_AHEAD):
            found = self._change(
                statements.lock_ahead, {"limit": _LOOKED_AHEAD}, statements.bring_back, horizon
            )
            if not found:
                break
            back += found
        return back

    def _change(
        self,
        lock: Sql,
        lock_parameters: Mapping[str, object],
        change: Sql,
        parameters: Mapping[str, object],
    ) -> int:
        def work(connection: sa.Connection) -> int:
            ids = lock.execute(connection, lock_parameters).scalars().all()
            if ids:
                change.execute(connection, {**parameters, "batch": as_json(sorted(ids))})
            return len(ids)

        return self.transactions.write(work)

    def _revive(
        self,
        message_ids: Sequence[str],
        change: Sql,
        parameters: Mapping[str, object],
        *,
        also_skipped: bool,
    ) -> int:
        ids = checked_ids("message_ids", message_ids)
        if not ids:
            return 0
        dead = {"batch": as_json(unique(ids)), "also_skipped": also_skipped}

        def work(connection: sa.Connection) -> Sequence[Row]:
            rows = self.statements.lock_dead.execute(connection, dead).all()
            if rows:
                batch = as_json(sorted(row_id for row_id, *_ in rows))
                change.execute(connection, {**parameters, "batch": batch})
                self._wake(connection, _aggregates(rows))
            return rows

        rows = self.transactions.write(work)
        if rows:
            self._wake_the_rest(_aggregates(rows))
        return len(rows)

    def _wake(self, connection: sa.Connection, aggregates: Sequence[dict[str, Any]]) -> None:
        batch = {"batch": as_json(aggregates)}
        parked = self.statements.lock_parked.execute(connection, batch).scalars().all()
        if parked:
            self.statements.wake.execute(connection, {"batch": as_json(sorted(parked))})

    def _wake_the_rest(self, aggregates: Sequence[dict[str, Any]]) -> None:
        """Wake what somebody had locked just then, such as a claim that was to pass it over."""
        batch = {"batch": as_json(aggregates)}
        find = self.statements.find_parked
        problem: object = "it is locked"
        try:
            for tries in range(_WAKING_TRIES):
                if self.transactions.read(lambda it: find.execute(it, batch).first()) is None:
                    return
                self.transactions.write(lambda it: self._wake(it, aggregates))
                pause(tries)
        except OutboxStoreError as error:  # the dead letters are replayed, or skipped, all the same
            problem = error
        _logger.warning("what waits behind dead letters may be sent an hour late: %s", problem)


def _aggregates(rows: Sequence[Row]) -> list[dict[str, Any]]:
    aggregates = dict.fromkeys((kind, key) for _, kind, key in rows)
    return [{"aggregate_type": kind, "aggregate_id": key} for kind, key in aggregates]
