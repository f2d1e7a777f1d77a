import enum

import pytest

from pragmatic_ddd.application.inbox import StateMachine


class State(enum.Enum):
    NEW = "new"
    PAID = "paid"
    CANCELLED = "cancelled"
    SHIPPED = "shipped"


orders = StateMachine(
    {
        State.NEW: [State.PAID, State.CANCELLED],
        State.PAID: [State.SHIPPED, State.CANCELLED],
        State.SHIPPED: [],
        State.CANCELLED: [],
    }
)


@pytest.mark.parametrize(
    ("current", "target", "is_reached"),
    [
        (State.NEW, State.NEW, True),
        (State.NEW, State.PAID, False),
        (State.PAID, State.PAID, True),
        (State.SHIPPED, State.PAID, True),
        (State.SHIPPED, State.NEW, True),
        (State.PAID, State.SHIPPED, False),
        (State.CANCELLED, State.SHIPPED, False),
        (State.CANCELLED, State.PAID, True),  # left out, perhaps, but too late for it
    ],
)
def test_a_state_tells_what_was_reached(current: State, target: State, is_reached: bool) -> None:
    assert orders.has_reached(current, target) is is_reached


@pytest.mark.parametrize(
    ("current", "target", "can"),
    [
        (State.NEW, State.SHIPPED, True),
        (State.SHIPPED, State.PAID, False),
        (State.CANCELLED, State.SHIPPED, False),
        (State.PAID, State.PAID, False),
    ],
)
def test_a_state_tells_what_can_follow(current: State, target: State, can: bool) -> None:
    assert orders.can_reach(current, target) is can


def test_a_state_that_nobody_has_listed_is_refused() -> None:
    with pytest.raises(ValueError, match="'b' follows 'a', and is not listed itself"):
        StateMachine({"a": ["b"]})


@pytest.mark.parametrize(
    "transitions", [{"a": ["a"]}, {"a": ["b"], "b": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["b"]}]
)
def test_a_circle_is_refused(transitions: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="follows itself"):
        StateMachine(transitions)


@pytest.mark.parametrize("states", [("a", "c"), ("c", "a")])
def test_an_unknown_state_is_refused(states: tuple[str, str]) -> None:
    machine = StateMachine({"a": ["b"], "b": []})

    with pytest.raises(ValueError, match="'c' is no state"):
        machine.has_reached(*states)
    with pytest.raises(ValueError, match="'c' is no state"):
        machine.can_reach(*states)
