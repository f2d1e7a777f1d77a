"""Notices that the thread of the clients stood still: its process was stopped, or starved.

    looks     |   |   |                                   |   |   |   |   |   |
                      └── stopped, for all that is known ─┘
    arrivals        fresh            since the last look before it        fresh

A message that has waited at the connection for so long may be another process's by now.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import attrs

_LOOK_EVERY_SECONDS: Final = 0.25
_SHORTEST_SECONDS: Final = 0.75
_LOOKS_UNTIL_FRESH: Final = 4
_MOST_IN_A_ROW: Final = 3  # else a thread that is always late would take all for lost


@attrs.define(eq=False)
class Standstill:
    """What is known of standstills. For one thread.

    Attributes:
        clock: Reads the monotonic clock.
    """

    clock: Callable[[], float] = time.monotonic
    _looked_at: float = attrs.field(init=False)
    _begun: float = attrs.field(default=0.0, init=False)
    _in_a_row: int = attrs.field(default=0, init=False)
    _looks_until_fresh: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._looked_at = self.clock()

    async def watch(self) -> None:
        """Look again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            self.look()

    def look(self) -> None:
        """Note that the thread is alive."""
        now = self.clock()
        if now - self._looked_at > _SHORTEST_SECONDS:
            self._note(self._looked_at)
        elif self._looks_until_fresh:
            self._looks_until_fresh -= 1
        self._looked_at = now

    def arrival(self) -> float:
        """Return since when what arrives now may have been here, as a reading of the clock."""
        self.look()
        return self._begun if self._looks_until_fresh else self._looked_at

    def _note(self, begun: float) -> None:
        """Note a standstill; of several in a row the first one counts."""
        is_another = self._looks_until_fresh > 0 and self._in_a_row < _MOST_IN_A_ROW
        self._in_a_row = self._in_a_row + 1 if is_another else 1
        if not is_another:
            self._begun = begun
        self._looks_until_fresh = _LOOKS_UNTIL_FRESH
