"""What an INSERT takes: the rows, and which of them may be born owned, by whom."""

from collections.abc import Sequence
from typing import Any

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.rows import as_json


def insert_parameters(
    rows: Sequence[dict[str, Any]], reservation: Reservation | None
) -> dict[str, object]:
    """Return what an INSERT of a whole batch takes."""
    marked = _marked(rows, reservation)
    return {"batch": as_json(marked)} | reserved(reservation)


def _marked(
    rows: Sequence[dict[str, Any]], reservation: Reservation | None
) -> list[dict[str, object]]:
    marks = enumerate(zip(rows, ownable(rows, reservation), strict=True))
    return [row | {"place": place, "ownable": may} for place, (row, may) in marks]


def reserved(reservation: Reservation | None) -> dict[str, object]:
    """Return the parameters that say who owns what is born owned, and for how long."""
    return {
        "claim_token": None if reservation is None else reservation.claim_token,
        "grace": None if reservation is None else reservation.grace.total_seconds(),
    }


def ownable(rows: Sequence[dict[str, Any]], reservation: Reservation | None) -> list[bool]:
    """Say which rows may be born owned, as far as the rows themselves tell.

    Not one without a version, and not one behind such a row of the same aggregate: nobody
    knows whether this transaction holds the aggregate, and the rows keep their order.
    """
    unversioned: set[tuple[str, str]] = set()
    result = []
    for row in rows:
        aggregate = row["aggregate_type"], row["aggregate_id"]
        if row["aggregate_version"] is None:
            unversioned.add(aggregate)
        result.append(reservation is not None and aggregate not in unversioned)
    return result
