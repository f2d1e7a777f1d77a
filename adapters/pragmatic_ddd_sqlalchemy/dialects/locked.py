"""Rows that a claim has locked, sorted by aggregate: what is verified before they are taken."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import attrs

from pragmatic_ddd_sqlalchemy.rows import Row, as_json


class LockedRow(NamedTuple):
    """A row that the open transaction has locked.

    Attributes:
        id: The row.
        aggregate_type: With ``aggregate_id``, whose.
        due_at: When it was due, as the database has said it.
        lapsed: Whether its owner has let its lease end.
        tried: Whether an attempt of it has been counted before.
        claimed: ``CLAIMED_COLUMNS``, where the marking statement cannot return them.
    """

    id: int
    aggregate_type: str
    aggregate_id: str
    due_at: Any
    lapsed: bool
    tried: bool
    claimed: Row = ()


class LockedAggregate(NamedTuple):
    """An aggregate of which rows are locked.

    Attributes:
        aggregate_type: With ``aggregate_id``, which one.
        top: Its highest locked row.
        due_at: When the first of its locked rows was due.
    """

    aggregate_type: str
    aggregate_id: str
    top: int
    due_at: Any


@attrs.frozen
class Locked:
    """Rows that the open transaction has locked.

    Attributes:
        rows: The rows.
    """

    rows: Sequence[LockedRow]

    # Nobody asks for these in PostgreSQL, where all can be taken, as nearly always.

    @property
    def aggregates(self) -> Sequence[LockedAggregate]:
        """Those that the rows belong to."""
        return self._by_aggregate[0]

    @property
    def places(self) -> Sequence[int]:
        """For each row, where its aggregate stands in ``aggregates``."""
        return self._by_aggregate[1]

    @functools.cached_property
    def _by_aggregate(self) -> tuple[Sequence[LockedAggregate], Sequence[int]]:
        place_of: dict[tuple[str, str], int] = {}
        tops: list[int] = []
        due: list[Any] = []
        places: list[int] = []
        for row_id, kind, key, due_at, *_ in self.rows:
            place = place_of.setdefault((kind, key), len(tops))
            if place == len(tops):
                tops.append(row_id)
                due.append(due_at)
            else:
                tops[place] = max(tops[place], row_id)
                due[place] = min(due[place], due_at)
            places.append(place)
        aggregates = [
            LockedAggregate(kind, key, top, due_at)
            for (kind, key), top, due_at in zip(place_of, tops, due, strict=True)
        ]
        return aggregates, places


def aggregates_json(locked: Locked) -> str:
    """Return the locked aggregates, each with its place, as one parameter."""
    return as_json(
        [
            {
                "place": place,
                "aggregate_type": aggregate.aggregate_type,
                "aggregate_id": aggregate.aggregate_id,
                "top": aggregate.top,
                "due_at": str(aggregate.due_at),
            }
            for place, aggregate in enumerate(locked.aggregates)
        ]
    )
