"""State machines, where an aggregate's state tells which events were applied to it.

order = StateMachine({NEW: [PAID, CANCELLED], PAID: [SHIPPED], SHIPPED: [], CANCELLED: []})
order.has_reached(SHIPPED, PAID)        # True: what leads to PAID was applied
"""

from collections.abc import Collection, Hashable, Mapping
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import of_type, shown

StateT = TypeVar("StateT", bound=Hashable)


@attrs.frozen(eq=False)
class StateMachine(Generic[StateT]):
    """States, and what each leads to. Without circles: else a state would not tell the past.

    Attributes:
        transitions: For each state, those that may follow it.

    Raises:
        ValueError: A state follows that is not listed, or itself, directly or through others.
    """

    transitions: Mapping[StateT, Collection[StateT]] = attrs.field(validator=of_type(Mapping))
    _later: dict[StateT, frozenset[StateT]] = attrs.field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for state in self.transitions:
            self._reach(state, ())

    def has_reached(self, current: StateT, target: StateT) -> bool:
        """Say whether ``target`` is the current state, or may have come before it.

        A state that can be left out on the way counts as reached once it is too late for it.

        Raises:
            ValueError: One is no state of this machine.
        """
        self._check(current)
        self._check(target)
        return current == target or current in self._later[target]

    def can_reach(self, current: StateT, target: StateT) -> bool:
        """Say whether ``target`` may yet follow ``current``, directly or through others.

        Raises:
            ValueError: One is no state of this machine.
        """
        self._check(current)
        self._check(target)
        return target in self._later[current]

    def _check(self, state: StateT) -> None:
        if state not in self.transitions:
            raise ValueError(f"{shown(state)} is no state of this machine")

    def _reach(self, state: StateT, path: tuple[StateT, ...]) -> frozenset[StateT]:
        if state in path:
            raise ValueError(f"{shown(state)} follows itself: its states would not tell the past")
        if state not in self.transitions:
            raise ValueError(f"{shown(state)} follows {shown(path[-1])}, and is not listed itself")
        if state not in self._later:
            following = self.transitions[state]
            reached = [self._reach(each, (*path, state)) for each in following]
            self._later[state] = frozenset(following).union(*reached)
        return self._later[state]
