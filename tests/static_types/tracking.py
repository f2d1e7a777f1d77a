"""What a type checker must see of tracked collections; nothing executes it.

Each ``type: ignore`` states a mistake that must be refused: mypy warns of one that is not needed.
"""

from typing import assert_type

from pragmatic_ddd import Entity
from pragmatic_ddd.domain import Changes, ITrackable, TrackedDict, TrackedList


class Line(Entity):
    id: str
    pieces: int


class Order(Entity):
    id: str
    lines: TrackedList[Line]


def a_tracked_list_is_a_list(order: Order, line: Line) -> list[Line]:
    assert_type(order.lines.changes(), Changes[int, Line])
    assert_type(order.lines[0], Line)
    order.lines.append("line")  # type: ignore[arg-type]
    order.lines = [line]  # type: ignore[assignment]
    order.lines[:] = [line]
    return order.lines


def a_tracked_dict_is_a_dict(prices: TrackedDict[str, int]) -> dict[str, int]:
    assert_type(prices.changes(), Changes[str, int])
    assert_type(prices.changes().updated["eur"], int)
    return prices


def an_entity_is_trackable(line: Line) -> ITrackable:
    return line
