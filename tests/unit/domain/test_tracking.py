import datetime as dt
import enum
from decimal import Decimal

import attrs
import pytest

from pragmatic_ddd.domain import Changes, Entity, ITrackable
from pragmatic_ddd.domain.tracking import state_of


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


def test_changes_are_true_when_there_are_any() -> None:
    nothing: Changes[int, str] = Changes(added={}, updated={}, removed={})

    assert not nothing
    assert attrs.evolve(nothing, added={0: "a"})
    assert attrs.evolve(nothing, updated={0: "a"})
    assert attrs.evolve(nothing, removed={0: "a"})
    assert attrs.evolve(nothing, moved={0: 1})
