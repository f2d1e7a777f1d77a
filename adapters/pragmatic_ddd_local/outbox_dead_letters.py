"""Dead letters of the outbox in memory: which there are, and what a person makes of them."""

import datetime as dt
from collections.abc import Sequence

from pragmatic_ddd.ports import OutboxStatus
from pragmatic_ddd_local.outbox_row import OutboxRow, storable
from pragmatic_ddd_local.outbox_rows import OutboxRows
from pragmatic_ddd_local.outbox_tidying import wake

_DEAD = frozenset({OutboxStatus.FAILED})
_DEAD_OR_SKIPPED = frozenset({OutboxStatus.FAILED, OutboxStatus.SKIPPED})


def dead_letters(rows: OutboxRows, *, after_id: int) -> list[OutboxRow]:
    """Return them in order, from behind an id."""
    failed = [
        row for row in rows.unsent() if row.status is OutboxStatus.FAILED and row.id > after_id
    ]
    return sorted(failed, key=lambda row: row.id)


def replay(
    rows: OutboxRows, message_ids: Sequence[str], now: dt.datetime, *, also_skipped: bool
) -> int:
    """Have them due as if they were new, and what waits behind them; return how many."""
    found = _in_states(rows, message_ids, _DEAD_OR_SKIPPED if also_skipped else _DEAD)
    for row in found:
        row.attempts = row.failures = 0
        row.sent_at = None
        row.give_back(now)
        rows.changed(row)
        wake(rows, row.message.aggregate, now)
    return len(found)


def skip(
    rows: OutboxRows, message_ids: Sequence[str], now: dt.datetime, *, by: str, reason: str
) -> int:
    """Have them never sent, and what waits behind them due; return how many."""
    found = _in_states(rows, message_ids, _DEAD)
    for row in found:
        row.status = OutboxStatus.SKIPPED
        row.sent_at = now
        failure = row.last_error or "no error"
        row.last_error = storable(f"skipped by {by}: {reason}; it had failed: {failure}")
        rows.changed(row)
        wake(rows, row.message.aggregate, now)
    return len(found)


def _in_states(
    rows: OutboxRows, message_ids: Sequence[str], states: frozenset[OutboxStatus]
) -> list[OutboxRow]:
    found = [rows.find_message(message_id) for message_id in dict.fromkeys(message_ids)]
    return [row for row in found if row is not None and row.status in states]
