import copy
from collections.abc import Callable, Mapping

import attrs
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.domain import Changes, Entity, TrackedDict
from pragmatic_ddd.domain.tracking import state_of


class Price(Entity):
    id: int
    cents: int


_prices = st.builds(
    lambda number, cents: Price(id=number, cents=cents), st.integers(1, 2), st.integers(0, 2)
)
_values: st.SearchStrategy[object] = _prices | st.integers(0, 2) | st.booleans()
_dicts = st.dictionaries(st.sampled_from("abcd"), _values, max_size=4)


def replayed(loaded: Mapping[str, object], changes: Changes[str, object]) -> dict[str, object]:
    assert changes.removed.keys() | changes.updated.keys() <= loaded.keys()
    assert not changes.added.keys() & loaded.keys()
    rows = {key: item for key, item in loaded.items() if key not in changes.removed}
    return rows | dict(changes.updated) | dict(changes.added)


def _pop_last(items: TrackedDict[str, object]) -> None:
    if items:
        items.popitem()


def _change_in_place(items: TrackedDict[str, object], cents: int) -> None:
    for price in [item for item in items.values() if isinstance(item, Price)]:
        price.cents = cents


_OPERATIONS: dict[str, Callable[[TrackedDict[str, object], str, st.DataObject], object]] = {
    "set": lambda items, key, data: items.update({key: data.draw(_values)}),
    "update": lambda items, _, data: items.update(data.draw(_dicts)),
    "|=": lambda items, _, data: items.__ior__(data.draw(_dicts)),
    "pop": lambda items, key, _: items.pop(key, None),
    "pop last": lambda items, _, __: _pop_last(items),
    "set default": lambda items, key, data: items.setdefault(key, data.draw(_values)),
    "clear": lambda items, _, __: items.clear(),
    "change in place": lambda items, _, data: _change_in_place(items, data.draw(st.integers(0, 2))),
}


@given(
    _dicts,
    st.lists(st.tuples(st.sampled_from(list(_OPERATIONS)), st.sampled_from("abcd")), max_size=8),
    st.data(),
)
def test_the_difference_replayed_on_what_was_loaded_is_the_dict(
    loaded: dict[str, object], operations: list[tuple[str, str]], data: st.DataObject
) -> None:
    items = TrackedDict(loaded)
    rows = copy.deepcopy(loaded)
    assert not items.changes()

    for name, key in operations:
        _OPERATIONS[name](items, key, data)

    changes = items.changes()
    assert state_of(replayed(rows, changes)) == state_of(dict(items))
    assert all(state_of(rows[key]) != state_of(item) for key, item in changes.updated.items())
    assert not changes.moved
    items.accept_changes()
    assert not items.changes()
    assert items.loaded == items


def test_items_are_added_updated_and_removed() -> None:
    prices = TrackedDict({"eur": 1, "usd": 2, "chf": 3})

    del prices["eur"]
    prices["usd"] = 5
    prices["gbp"] = 4

    assert prices.changes() == Changes(added={"gbp": 4}, updated={"usd": 5}, removed={"eur": 1})
    assert prices.loaded == {"eur": 1, "usd": 2, "chf": 3}


def test_an_item_that_was_changed_in_place_is_updated() -> None:
    @attrs.define
    class Rate:
        percent: int

    rates = TrackedDict({"eur": Rate(1), "usd": Rate(2)})

    rates["eur"].percent = 3

    assert rates.changes().updated == {"eur": Rate(3)}


def test_a_new_one_is_empty() -> None:
    rates: TrackedDict[str, int] = TrackedDict()

    rates["eur"] = 1

    assert rates.changes() == Changes(added={"eur": 1}, updated={}, removed={})


def test_a_copy_knows_what_was_loaded() -> None:
    rates = TrackedDict({"eur": 1})
    rates["usd"] = 2

    for other in (copy.copy(rates), copy.deepcopy(rates)):
        assert type(other) is TrackedDict
        assert other.changes() == rates.changes()
