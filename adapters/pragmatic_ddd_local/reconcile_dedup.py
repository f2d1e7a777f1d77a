"""Which views were compared lately, in the memory of one process."""

import datetime as dt
import threading

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.clock import SystemClock
from pragmatic_ddd.ports import IClock


@attrs.define(eq=False)
class InMemoryReconcileDedup:
    """Lets each view be compared once in a while, in this process.

    Holds one entry for each view compared within the window, and none for longer.

    Attributes:
        window: For how long a view that was compared is left alone.
        clock: Tells the time; one that steps back lets views be compared sooner.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: The window is not above zero.
    """

    window: dt.timedelta = attrs.field(validator=of_type(dt.timedelta))
    clock: IClock = attrs.field(factory=SystemClock, validator=implements(IClock))
    _begun: dict[tuple[str, object], dt.datetime] = attrs.field(
        factory=dict, init=False, repr=False
    )
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.window <= dt.timedelta():
            raise ValueError(f"window = {self.window!r}: above zero")

    def begin(self, read_model: str, aggregate_id: object) -> bool:
        now, key = self.clock.now(), (read_model, aggregate_id)
        with self._lock:
            self._drop_old(now)
            if key in self._begun:
                return False
            self._begun[key] = now
            return True

    def forget(self, read_model: str, aggregate_id: object) -> None:
        with self._lock:
            self._begun.pop((read_model, aggregate_id), None)

    def _drop_old(self, now: dt.datetime) -> None:
        """Drop from the oldest on; they stand in the order in which they were begun."""
        while self._begun:
            oldest = next(iter(self._begun))
            if dt.timedelta() <= now - self._begun[oldest] < self.window:
                return
            del self._begun[oldest]
