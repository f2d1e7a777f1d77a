"""When rows of the outbox in memory are due that are in the way, or that a clock has stranded."""

import datetime as dt

from pragmatic_ddd.ports import OutboxStatus
from pragmatic_ddd_local.outbox_row import OutboxRow
from pragmatic_ddd_local.outbox_rows import OutboxRows

LONGEST_PARKING = dt.timedelta(hours=1)
_SHORTEST_PARKING = dt.timedelta(seconds=1)


def bring_back(rows: OutboxRows, now: dt.datetime, horizon: dt.timedelta) -> int:
    """Have rows due again that a clock has put into the future; return how many."""
    latest = now + horizon
    stranded = [
        row
        for row in rows.unsent()
        if row.is_open and row.due_at > now and (row.due_at > latest or row.is_ahead_of(now))
    ]
    for row in stranded:
        row.bring_back(now)
    return len(stranded)


def park(rows: OutboxRows, now: dt.datetime) -> int:
    """Put off due rows that wait behind a dead letter; return how many."""
    moved = 0
    for row in rows.due(now):
        if row.is_free and _waits_behind_a_dead_letter(rows, row):
            waited = max(now - row.created_at, _SHORTEST_PARKING)
            row.due_at = now + min(waited, LONGEST_PARKING)
            moved += 1
    return moved


def wake(rows: OutboxRows, aggregate: tuple[str, str], now: dt.datetime) -> None:
    """Have the free rows of an aggregate due: what they waited behind no longer blocks them."""
    for row in rows.unsent_of(aggregate):
        if row.is_free:
            row.due_at = min(row.due_at, now)


def _waits_behind_a_dead_letter(rows: OutboxRows, row: OutboxRow) -> bool:
    lane = rows.unsent_of(row.message.aggregate)
    return any(each.status is OutboxStatus.FAILED and each.id < row.id for each in lane)
