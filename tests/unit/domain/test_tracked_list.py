import copy
import pickle
from collections.abc import Callable, Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.domain import Changes, Entity, TrackedList
from pragmatic_ddd.domain.tracking import state_of


@attrs.frozen
class Money:
    cents: int


class Line(Entity):
    id: int | None
    price: Money


Item = Line | Money | int | bool


def a_line(number: int | None = 1, cents: int = 100) -> Line:
    return Line(id=number, price=Money(cents))


def replayed(loaded: Sequence[Item], changes: Changes[int, Item]) -> list[Item]:
    """Apply changes to what was loaded, as a repository applies them to rows."""
    rows = {
        changes.moved.get(place, place): item
        for place, item in enumerate(loaded)
        if place not in changes.removed
    }
    assert not rows.keys() & changes.added.keys(), "what is new has a place of its own"
    assert changes.updated.keys() <= rows.keys(), "what is updated was there"
    rows.update(changes.updated)
    rows.update(changes.added)
    return [rows[place] for place in range(len(rows))]


_items: st.SearchStrategy[Item] = st.one_of(
    st.builds(a_line, st.sampled_from([1, 2, 3, None]), st.integers(0, 2)),
    st.builds(Money, st.integers(0, 2)),
    st.integers(0, 2),
    st.booleans(),
)
_lists = st.lists(_items, max_size=5)
_indexes = st.none() | st.integers(-6, 6)
_slices = st.builds(slice, _indexes, _indexes, st.sampled_from([None, 1, 2, -1, -2]))

Operation = Callable[[TrackedList[Item], st.DataObject], None]


def _at(items: TrackedList[Item], data: st.DataObject) -> int:
    return data.draw(st.integers(-len(items), len(items) - 1))


def _set_slice(items: TrackedList[Item], data: st.DataObject) -> None:
    part = data.draw(_slices)
    wanted = None if part.step in {None, 1} else len(items[part])
    if wanted is None:
        items[part] = data.draw(_lists)
    else:
        items[part] = data.draw(st.lists(_items, min_size=wanted, max_size=wanted))


def _set_item(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        items[_at(items, data)] = data.draw(_items)


def _delete_item(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        del items[_at(items, data)]


def _delete_slice(items: TrackedList[Item], data: st.DataObject) -> None:
    del items[data.draw(_slices)]


def _pop(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        items.pop(_at(items, data))


def _remove(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        items.remove(data.draw(st.sampled_from(items)))


def _add_in_place(items: TrackedList[Item], data: st.DataObject) -> None:
    items += data.draw(_lists)


def _repeat(items: TrackedList[Item], data: st.DataObject) -> None:
    if len(items) < 8:
        items *= data.draw(st.integers(-1, 2))


def _add_again(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        items.append(data.draw(st.sampled_from(items)))


def _change_in_place(items: TrackedList[Item], data: st.DataObject) -> None:
    for line in [item for item in items if isinstance(item, Line)][:1]:
        line.price = Money(data.draw(st.integers(0, 2)))


def _replace_by_an_equal_one(items: TrackedList[Item], data: st.DataObject) -> None:
    if items:
        place = _at(items, data)
        items[place] = copy.deepcopy(items[place])


_OPERATIONS: dict[str, Operation] = {
    "append": lambda items, data: items.append(data.draw(_items)),
    "insert": lambda items, data: items.insert(data.draw(st.integers(-6, 6)), data.draw(_items)),
    "extend": lambda items, data: items.extend(data.draw(_lists)),
    "sort": lambda items, data: items.sort(key=repr, reverse=data.draw(st.booleans())),
    "reverse": lambda items, _: items.reverse(),
    "clear": lambda items, _: items.clear(),
    "set item": _set_item,
    "set slice": _set_slice,
    "delete item": _delete_item,
    "delete slice": _delete_slice,
    "pop": _pop,
    "remove": _remove,
    "+=": _add_in_place,
    "*=": _repeat,
    "add again": _add_again,
    "change in place": _change_in_place,
    "replace by an equal one": _replace_by_an_equal_one,
}


@given(_lists, st.lists(st.sampled_from(list(_OPERATIONS)), max_size=8), st.data())
def test_the_difference_replayed_on_what_was_loaded_is_the_list(
    loaded: list[Item], operations: list[str], data: st.DataObject
) -> None:
    items = TrackedList(loaded)
    rows = copy.deepcopy(loaded)
    assert not items.changes()

    for name in operations:
        _OPERATIONS[name](items, data)

    changes = items.changes()
    assert state_of(replayed(rows, changes)) == state_of(list(items))
    items.accept_changes()
    assert not items.changes()
    assert items.loaded == tuple(items)


@given(_lists, st.lists(st.sampled_from(list(_OPERATIONS)), max_size=8), st.data())
def test_what_is_reported_has_happened(
    loaded: list[Item], operations: list[str], data: st.DataObject
) -> None:
    items = TrackedList(loaded)
    states = [state_of(item) for item in loaded]

    for name in operations:
        _OPERATIONS[name](items, data)

    changes = items.changes()
    assert all(items[place] is item for place, item in changes.added.items())
    assert all(items[place] is item for place, item in changes.updated.items())
    assert all(loaded[place] is item for place, item in changes.removed.items())
    assert all(before != now for before, now in changes.moved.items())
    origins = {now: before for before, now in changes.moved.items()}
    for place in changes.updated:
        assert state_of(items[place]) != states[origins.get(place, place)]
    if not changes:
        assert [state_of(item) for item in items] == states


def test_a_new_item_is_added() -> None:
    lines = TrackedList([a_line(1)])

    lines.append(a_line(2))

    assert lines.changes() == Changes(added={1: a_line(2)}, updated={}, removed={})


def test_an_item_that_is_gone_is_removed() -> None:
    lines = TrackedList([a_line(1), a_line(2)])

    del lines[0]

    assert lines.changes() == Changes(added={}, updated={}, removed={0: a_line(1)}, moved={1: 0})
    assert lines.loaded == (a_line(1), a_line(2))


def test_an_entity_that_was_changed_in_place_is_updated() -> None:
    lines = TrackedList([a_line(1), a_line(2)])

    lines[1].price = Money(7)

    assert lines.changes() == Changes(added={}, updated={1: lines[1]}, removed={})


def test_another_entity_with_the_same_id_is_an_update_if_it_has_other_values() -> None:
    lines = TrackedList([a_line(1), a_line(2)])

    lines[0] = a_line(1)
    lines[1] = a_line(2, cents=7)

    assert lines.changes().updated == {1: lines[1]}
    assert not lines.changes().added


def test_an_entity_is_found_wherever_it_went() -> None:
    lines = TrackedList([a_line(1), a_line(2), a_line(3)])

    lines.sort(key=lambda line: -(line.id or 0))
    lines[0] = a_line(3, cents=7)

    assert lines.changes() == Changes(
        added={}, updated={0: lines[0]}, removed={}, moved={0: 2, 2: 0}
    )


def test_a_replaced_value_is_one_removed_and_one_added() -> None:
    prices = TrackedList([Money(1), Money(2)])

    prices[0] = Money(3)

    assert prices.changes() == Changes(added={0: Money(3)}, updated={}, removed={0: Money(1)})


def test_of_equal_items_as_few_move_as_can_be() -> None:
    prices = TrackedList([Money(1), Money(1), Money(1)])

    prices.pop(0)

    assert prices.changes() == Changes(added={}, updated={}, removed={2: Money(1)})


def test_what_has_stayed_at_its_place_has_not_moved() -> None:
    prices = TrackedList([Money(1), Money(1)])

    prices[0] = Money(2)

    assert prices.changes() == Changes(added={0: Money(2)}, updated={}, removed={0: Money(1)})


def test_equal_items_keep_their_order() -> None:
    prices = TrackedList([Money(1), Money(1), Money(2), Money(2)])

    prices.reverse()

    assert prices.changes().moved == {2: 0, 3: 1, 0: 2, 1: 3}


def test_entities_without_an_id_are_known_by_themselves() -> None:
    first, second = a_line(None), a_line(None)
    lines = TrackedList([first])

    lines[0] = second

    assert lines.changes() == Changes(added={0: second}, updated={}, removed={0: first})


def test_whatever_has_an_id_is_known_by_that_and_its_class() -> None:
    @attrs.define
    class Row:
        id: int
        text: str

    @attrs.define
    class SpecialRow(Row):
        pass

    rows = TrackedList([Row(1, "a"), Row(2, "b")])

    rows[:] = [Row(1, "c"), SpecialRow(2, "b")]

    changes = rows.changes()
    assert changes.updated == {0: Row(1, "c")}
    assert changes.added == {1: SpecialRow(2, "b")}
    assert changes.removed == {1: Row(2, "b")}


def test_a_key_says_by_what_an_item_is_known() -> None:
    @attrs.define
    class Row:
        number: int
        text: str

    rows = TrackedList([Row(1, "a"), Row(2, "b")], key=lambda row: row.number)

    rows[:] = [Row(2, "b"), Row(1, "c")]
    changes = rows.changes()
    assert changes.updated == {1: Row(1, "c")}
    assert changes.moved == {0: 1, 1: 0}

    rows[0].number = 3
    assert rows.changes().added == {0: Row(3, "b")}
    assert list(rows.changes().removed) == [1]


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^dict: an item is known by its id"):
        TrackedList([{"a": 1}])
    rows: TrackedList[object] = TrackedList()
    rows.append([])
    with pytest.raises(TypeError, match=r"^list: an item is known by its id"):
        rows.changes()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda lines: pickle.loads(pickle.dumps(lines))]
)
def test_a_copy_knows_what_was_loaded(
    copied: Callable[[TrackedList[Line]], TrackedList[Line]],
) -> None:
    lines = TrackedList([a_line(1), a_line(2)])
    lines.append(a_line(3))
    lines.pop(0)

    other = copied(lines)

    assert type(other) is TrackedList
    assert other.changes() == lines.changes()
