"""Counting what arrived against what was stored."""

import json
from collections.abc import Iterable
from pathlib import Path

import attrs


@attrs.frozen(kw_only=True)
class Arrival:
    """One message as the consumer saw it."""

    event_id: str
    aggregate_id: str
    version: int
    index: int
    kind: str


@attrs.frozen(kw_only=True)
class Tally:
    """What the order of arrival shows.

    Attributes:
        received: Distinct events.
        duplicates: Further copies.
        overtaken: First copies that arrived after a later event of their aggregate.
    """

    received: int
    duplicates: int
    overtaken: int


def arrivals(log: Path, *, kind: str) -> list[Arrival]:
    """Read what the consumer has written so far, without a last line that is not yet whole."""
    if not log.exists():
        return []
    lines = log.read_text().split("\n")[:-1]
    return [one for line in lines if (one := Arrival(**json.loads(line))).kind == kind]


def tally(arrived: Iterable[Arrival]) -> Tally:
    seen: set[str] = set()
    latest: dict[str, tuple[int, int]] = {}
    duplicates = overtaken = 0
    for one in arrived:
        if one.event_id in seen:
            duplicates += 1
            continue
        seen.add(one.event_id)
        place = (one.version, one.index)
        before = latest.get(one.aggregate_id, (0, 0))
        overtaken += place < before
        latest[one.aggregate_id] = max(place, before)
    return Tally(received=len(seen), duplicates=duplicates, overtaken=overtaken)
