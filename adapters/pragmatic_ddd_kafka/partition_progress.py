"""How far the partitions of a consumer are: what is done, what is held back, what is committed.

received ──▶ done ──take_done──▶ committed
    │          ▲        └── give_back ◀── refused
    └──▶ held ─┘        tried again when its pause is over; the partition stands still meanwhile
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

import attrs

from pragmatic_ddd_kafka.record import Place, ReceivedRecord

Offsets = Mapping[Place, int]
"""By partition, the offset of the next record to be consumed."""


@attrs.define(eq=False)
class _Held:
    """A partition that stands still: its records, oldest first, and until when."""

    records: deque[ReceivedRecord]
    until: float


@attrs.define(eq=False)
class PartitionProgress:
    """Kept by one consumer, in one thread at a time."""

    _done: dict[Place, int] = attrs.field(factory=dict, init=False)
    _held: dict[Place, _Held] = attrs.field(factory=dict, init=False)

    @property
    def has_done(self) -> bool:
        """Whether something is done and not committed."""
        return bool(self._done)

    def done(self, record: ReceivedRecord) -> None:
        """Note that a record, and all before it, will not be needed again."""
        self._done[record.place] = record.offset + 1

    def take_done(self, places: Collection[Place] | None = None) -> dict[Place, int]:
        """Take what is to be committed, of these partitions or of all."""
        wanted = list(self._done) if places is None else places
        return {place: self._done.pop(place) for place in wanted if place in self._done}

    def give_back(self, offsets: Offsets) -> None:
        """Take back what could not be committed, unless more has been done since."""
        for place, offset in offsets.items():
            self._done.setdefault(place, offset)

    def hold(self, record: ReceivedRecord, until: float) -> None:
        """Have a record be tried again later, and those behind it wait.

        Args:
            record: It.
            until: Reading of the monotonic clock before which it is not tried.
        """
        held = self._held.get(record.place)
        if held is None:
            self._held[record.place] = _Held(deque([record]), until)
        else:
            held.until = until

    def queue_up(self, record: ReceivedRecord) -> bool:
        """Have a record wait behind one that is held; say whether there is one."""
        held = self._held.get(record.place)
        if held is None:
            return False
        held.records.append(record)
        return True

    def due(self, now: float) -> list[Place]:
        """Return the partitions whose pause is over."""
        return [place for place, held in self._held.items() if held.until <= now]

    def next_due(self) -> float | None:
        """Return when the next pause is over; ``None`` where nothing is held."""
        return min((held.until for held in self._held.values()), default=None)

    def first_of(self, place: Place) -> ReceivedRecord | None:
        """Return the oldest record that is held; ``None``, and held no more, after the last."""
        held = self._held.get(place)
        if held is None:
            return None
        if not held.records:
            del self._held[place]
            return None
        return held.records[0]

    def pass_on(self, place: Place) -> None:
        """Leave the oldest record behind: it is done."""
        self.done(self._held[place].records.popleft())

    def forget(self, places: Iterable[Place]) -> list[ReceivedRecord]:
        """Drop what is known of partitions that are another consumer's; return what was held."""
        dropped: list[ReceivedRecord] = []
        for place in places:
            self._done.pop(place, None)
            held = self._held.pop(place, None)
            if held is not None:
                dropped += held.records
        return dropped
