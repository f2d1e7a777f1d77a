import pytest

from pragmatic_ddd.application.events import SubscriberOrderManager
from pragmatic_ddd.errors import SubscriptionError


def an_order(**depends_on: list[str]) -> SubscriberOrderManager:
    order = SubscriberOrderManager("shop.order.paid")
    for code, predecessors in depends_on.items():
        order.add(code, predecessors)
    return order


def test_roots_depend_on_none() -> None:
    assert an_order(c=["a"], b=[], a=[]).roots() == ["b", "a"]


def test_successors_and_predecessors_are_direct() -> None:
    order = an_order(a=[], b=["a"], c=["b", "a"])

    assert order.successors("a") == ["b", "c"]
    assert order.predecessors("c") == ("b", "a")
    assert order.edges() == [("a", "b"), ("b", "c"), ("a", "c")]


def test_followers_are_all_that_wait() -> None:
    order = an_order(a=[], b=["a"], c=["b"], d=["c", "a"], e=[])

    assert order.followers("a") == {"b", "c", "d"}
    assert order.followers("e") == set()


def test_a_dependency_may_be_named_twice_and_added_later() -> None:
    order = an_order(b=["a", "a"])
    assert order.missing() == [("a", "b")]

    order.add("a", [])

    assert order.missing() == []
    assert order.edges() == [("a", "b")]


@pytest.mark.parametrize(
    ("registered", "code", "depends_on"),
    [
        ({}, "a", ["a"]),
        ({"a": ["b"]}, "b", ["a"]),
        ({"a": ["c"], "b": ["a"]}, "c", ["b"]),
        ({"a": ["b"], "b": ["c"], "c": ["d"], "x": []}, "d", ["x", "a"]),
    ],
)
def test_a_cycle_is_refused_by_whoever_would_close_it(
    registered: dict[str, list[str]], code: str, depends_on: list[str]
) -> None:
    order = an_order(**registered)

    with pytest.raises(SubscriptionError, match="wait for each other") as refusal:
        order.add(code, depends_on)

    assert f"{code} after" in str(refusal.value)
    order.add(code, [])


def test_a_diamond_is_no_cycle() -> None:
    order = an_order(end=["left", "right"], left=["start"], right=["start"], start=[])

    assert order.roots() == ["start"]


def test_a_code_is_added_once() -> None:
    order = an_order(a=[])

    with pytest.raises(SubscriptionError, match="already"):
        order.add("a", ["b"])

    assert order.predecessors("a") == ()
