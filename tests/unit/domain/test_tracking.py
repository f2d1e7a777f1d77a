import dataclasses
import datetime as dt
import enum
import uuid
from collections import deque
from decimal import Decimal

import attrs
import pytest

from pragmatic_ddd.domain import Changes, Entity, ITrackable, TrackedDict, TrackedList
from pragmatic_ddd.domain.tracking import state_of, state_of_item


@attrs.frozen
class Money:
    cents: int


@attrs.frozen
class Weight:
    cents: int


class Line(Entity):
    id: int | None
    price: Money
    tags: list[str] = attrs.field(factory=list)
    parent: "Line | None" = None


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class DataLine:
    id: int
    tags: list[int]


class Plain:
    pass


class PlainWithId:
    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id = 1


class EqualPlain:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualPlain)

    __hash__ = None  # type: ignore[assignment]  # as Python does it; ruff wants it said


class ValuePlain:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValuePlain)

    def __hash__(self) -> int:
        return 1


def a_line(number: int | None = 1, cents: int = 100) -> Line:
    return Line(id=number, price=Money(cents))


def test_an_entity_is_trackable_and_a_value_is_not() -> None:
    assert isinstance(a_line(), ITrackable)
    assert not isinstance(Money(1), ITrackable)


@pytest.mark.parametrize(
    "value",
    [1, "a", None, Decimal("1.0"), Color.RED, Money(1), (1, [2]), {"a": [1]}, {1, 2}, [set(), {}]],
)
def test_equal_values_have_the_same_state(value: object) -> None:
    assert state_of(value) == state_of(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ("a", b"a"),
        (Money(1), Weight(1)),
        ((1,), [1]),
        ({1}, frozenset({1})),
        ({"a": Money(1)}, {"a": Weight(1)}),
        ([Money(1)], [Money(2)]),
        ({1}, {1, 2}),
    ],
)
def test_other_values_and_other_types_are_another_state(one: object, other: object) -> None:
    assert state_of(one) != state_of(other)


def test_a_state_stays_when_the_object_changes_at_any_depth() -> None:
    line = a_line()
    before = state_of({"lines": [line]})

    line.tags.append("new")

    assert state_of({"lines": [line]}) != before
    line.tags.clear()
    assert state_of({"lines": [line]}) == before


def test_the_marks_of_an_entity_are_part_of_its_state() -> None:
    line = a_line()
    before = state_of(line)
    line.mark_deleted()
    deleted = state_of(line)
    line.mark_modified(dt.datetime(2026, 11, 30, tzinfo=dt.UTC), by="Ada")

    assert before != deleted != state_of(line)


def test_two_that_know_each_other_have_a_state() -> None:
    line, other = a_line(1), a_line(2)
    line.parent, other.parent = other, line
    before = state_of(line)

    other.price = Money(5)

    assert state_of(line) != before


def test_a_field_that_was_never_set_counts_as_none() -> None:
    @attrs.define
    class Lazy:
        value: int = attrs.field(init=False)

    lazy = Lazy()
    before = state_of(lazy)

    lazy.value = 1

    assert state_of(lazy) != before


def test_a_dataclass_is_looked_into() -> None:
    line = DataLine(1, [5])
    before = state_of([line])

    line.tags.append(6)

    assert state_of([line]) != before
    assert state_of_item(line) == state_of(DataLine(1, [5, 6]))


@pytest.mark.parametrize("item", [Plain(), PlainWithId(), EqualPlain(), deque([1])])
def test_an_item_whose_changes_would_not_be_seen_is_refused(item: object) -> None:
    name = type(item).__name__

    with pytest.raises(TypeError, match=f"^{name}: a change in place would not be seen; make it"):
        state_of_item(item)
    with pytest.raises(TypeError, match=f"^{name}: "):
        TrackedDict({"a": item})
    with pytest.raises(TypeError, match=f"^{name}: "):
        TrackedList([item], key=id)


def test_a_new_item_whose_changes_would_not_be_seen_is_refused_before_it_is_written() -> None:
    items: TrackedDict[str, object] = TrackedDict()
    items["a"] = Plain()

    with pytest.raises(TypeError, match="a change in place would not be seen"):
        items.changes()


@pytest.mark.parametrize(
    "item",
    [None, 1, "a", Decimal(1), Color.RED, Color, uuid.UUID(int=1), ValuePlain(), Money(1), {}],
)
def test_values_are_items(item: object) -> None:
    assert state_of_item(item) == state_of(item)


def test_changes_are_true_when_there_are_any() -> None:
    nothing: Changes[int, str] = Changes(added={}, updated={}, removed={})

    assert not nothing
    assert attrs.evolve(nothing, added={0: "a"})
    assert attrs.evolve(nothing, updated={0: "a"})
    assert attrs.evolve(nothing, removed={0: "a"})
    assert attrs.evolve(nothing, moved={0: 1})
