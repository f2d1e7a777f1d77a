"""What was handled lately, in the memory of one process."""

import threading
from collections import OrderedDict

import attrs

from pragmatic_ddd.application.arguments import check_count


@attrs.define(eq=False)
class InMemoryInboxCache:
    """Remembers the events that were noted or asked for last; forgets the others.

    Attributes:
        most: How many it remembers.

    Raises:
        TypeError: That is no whole number.
        ValueError: It is below 1.
    """

    most: int = attrs.field(default=100_000)
    _known: OrderedDict[tuple[str, str], None] = attrs.field(
        factory=OrderedDict, init=False, repr=False
    )
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    @most.validator
    def _check_most(self, _: object, value: object) -> None:
        check_count("most", value)

    def is_known(self, subscriber: str, message_id: str) -> bool:
        key = subscriber, message_id
        with self._lock:
            if key not in self._known:
                return False
            self._known.move_to_end(key)
            return True

    def note(self, subscriber: str, message_id: str) -> None:
        with self._lock:
            self._known[subscriber, message_id] = None
            self._known.move_to_end((subscriber, message_id))
            while len(self._known) > self.most:
                self._known.popitem(last=False)
