"""One at a time for each key."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import attrs


@attrs.define(eq=False)
class Turns:
    """Lets one thread at a time have each key; others wait until it has let go."""

    _taken: set[Hashable] = attrs.field(factory=set, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False, repr=False)

    @contextmanager
    def of(self, key: Hashable) -> Iterator[None]:
        """Have a key for as long as the context is open."""
        with self._changed:
            self._changed.wait_for(lambda: key not in self._taken)
            self._taken.add(key)
        try:
            yield
        finally:
            with self._changed:
                self._taken.discard(key)
                self._changed.notify_all()
