"""How long events were on their way, and which of them have waited without need."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import attrs
import sqlalchemy as sa

from tests.acceptance.faults.broker.journal import copies
from tests.acceptance.faults.diary import Note
from tests.acceptance.faults.stage import Stage, seconds_of

_TROUBLES = ("refused", "unconfirmed", "left_to_relay")


@attrs.frozen(kw_only=True)
class Journey:
    """One event between its commit and its first copy.

    Attributes:
        event_id: Which.
        aggregate_id: Whose.
        stored_at: When its row was written, in seconds of the wall clock.
        arrived_at: When the broker took it.
    """

    event_id: str
    aggregate_id: str
    stored_at: float
    arrived_at: float

    @property
    def seconds(self) -> float:
        return self.arrived_at - self.stored_at


def journeys(stage: Stage, journal: Path) -> list[Journey]:
    """Return the journeys of all events that have arrived."""
    first: dict[str, float] = {}
    for copy in copies(journal):
        first.setdefault(copy.event_id, copy.at)
    _, outbox = stage.tables()
    query = sa.select(outbox.c.message_id, outbox.c.aggregate_id, outbox.c.created_at)
    with stage.judges_engine().connect() as connection:
        rows = connection.execute(query).all()
    return [
        Journey(
            event_id=event_id,
            aggregate_id=aggregate_id,
            stored_at=seconds_of(created_at),
            arrived_at=first[event_id],
        )
        for event_id, aggregate_id, created_at in rows
        if event_id in first
    ]


def waited_without_need(
    made: Sequence[Journey], notes: Sequence[Note], longest_seconds: float
) -> list[Journey]:
    """Return the journeys that took longer from when nothing hindered them any more.

    What hinders a journey is that event or an elder one of its aggregate that failed or found
    the queue full, from then until it arrived. Trouble of other aggregates is no excuse, nor is
    a queue that was full for others. No process may have died.
    """
    troubled_at: dict[str, float] = {}
    for note in notes:
        for event_id in note.event_ids if note.what in _TROUBLES else ():
            troubled_at.setdefault(event_id, note.at)
    hindrances: dict[str, list[Journey]] = defaultdict(list)
    for one in made:
        if one.event_id in troubled_at:
            hindrances[one.aggregate_id].append(one)

    def free_since(one: Journey) -> float:
        ends = [
            min(other.arrived_at, one.arrived_at)
            for other in hindrances[one.aggregate_id]
            if other.stored_at <= one.stored_at and troubled_at[other.event_id] <= one.arrived_at
        ]
        return max([one.stored_at, *ends])

    return [one for one in made if one.arrived_at - free_since(one) > longest_seconds]
