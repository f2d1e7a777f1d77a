"""The order among the subscribers of one event: who waits for whom."""

from collections.abc import Iterable

import attrs

from pragmatic_ddd.errors import SubscriptionError


@attrs.define
class SubscriberOrderManager:
    """A graph without cycles: each subscriber's code, and the codes that it depends on.

    A subscriber may depend on one that is registered later; a cycle is refused by whichever
    registration would close it.

    Attributes:
        event_type: Stable name of the event, for errors.
    """

    event_type: str
    _predecessors: dict[str, tuple[str, ...]] = attrs.field(factory=dict, init=False)

    def add(self, code: str, depends_on: Iterable[str]) -> None:
        """Add a subscriber.

        Raises:
            SubscriptionError: The code is taken, or it would wait for itself in the end.
                Nothing was added.
        """
        if code in self._predecessors:
            raise SubscriptionError(f"{self.event_type} already has a subscriber {code!r}")
        predecessors = tuple(dict.fromkeys(depends_on))
        cycle = self._path(predecessors, code)
        if cycle:
            raise SubscriptionError(
                f"subscribers of {self.event_type} would wait for each other: "
                f"{' after '.join([code, *cycle])}"
            )
        self._predecessors[code] = predecessors

    def predecessors(self, code: str) -> tuple[str, ...]:
        """Return the codes that must have succeeded before this one is called."""
        return self._predecessors[code]

    def roots(self) -> list[str]:
        """Return the codes that depend on none, in order of registration."""
        return [code for code, before in self._predecessors.items() if not before]

    def successors(self, code: str) -> list[str]:
        """Return the codes that depend on this one directly, in order of registration."""
        return [after for after, before in self._predecessors.items() if code in before]

    def followers(self, code: str) -> set[str]:
        """Return the codes that depend on this one, directly or through others."""
        found: set[str] = set()
        waiting = [code]
        while waiting:
            for after in self.successors(waiting.pop()):
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        return found

    def edges(self) -> list[tuple[str, str]]:
        """Return the pairs (predecessor, successor)."""
        return [(first, then) for then, before in self._predecessors.items() for first in before]

    def missing(self) -> list[tuple[str, str]]:
        """Return the edges whose predecessor was never added: their successors cannot run."""
        return [edge for edge in self.edges() if edge[0] not in self._predecessors]

    def _path(self, start: Iterable[str], goal: str) -> list[str]:
        """Return the way from one of the starts to the goal; empty where there is none."""
        ways: list[list[str]] = [[code] for code in start]
        seen: set[str] = set()
        while ways:
            way = ways.pop()
            if way[-1] == goal:
                return way
            if way[-1] not in seen:
                seen.add(way[-1])
                before = self._predecessors.get(way[-1], ())
                ways.extend([*way, code] for code in before)
        return []
