"""How far the partitions of a consumer are: what is done, what is held back, what is committed.

received ──▶ done ──take_done──▶ committed
    │          ▲        └── give_back ◀── refused
    └──▶ held ─┘        tried when its pause is over, or its turn has come; the partition stands
                        still meanwhile
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

import attrs

from pragmatic_ddd_kafka.record import Place, Position, ReceivedRecord

Positions = Mapping[Place, Position]
"""By partition, where its consumers go on."""


@attrs.define(eq=False)
class _Held:
    """A partition that stands still: its records, oldest first, and until when."""

    records: deque[ReceivedRecord]
    until: float
    has_waited: bool


@attrs.define(eq=False)
class PartitionProgress:
    """Kept by one consumer, in one thread at a time."""

    _done: dict[Place, Position] = attrs.field(factory=dict, init=False)
    _held: dict[Place, _Held] = attrs.field(factory=dict, init=False)

    @property
    def has_done(self) -> bool:
        """Whether something is done and not committed."""
        return bool(self._done)

    def done(self, record: ReceivedRecord) -> None:
        """Note that a record, and all before it, will not be needed again."""
        self._done[record.place] = record.next_position

    def take_done(self, places: Collection[Place] | None = None) -> dict[Place, Position]:
        """Take what is to be committed, of these partitions or of all."""
        wanted = list(self._done) if places is None else places
        return {place: self._done.pop(place) for place in wanted if place in self._done}

    def give_back(self, positions: Positions) -> None:
        """Take back what could not be committed, unless more has been done since."""
        for place, position in positions.items():
            self._done.setdefault(place, position)

    def hold(self, record: ReceivedRecord, until: float) -> None:
        """Have a record be tried again later, and those behind it wait.

        Args:
            record: It.
            until: Reading of the monotonic clock before which it is not tried.
        """
        held = self._held.get(record.place)
        if held is None:
            self._held[record.place] = _Held(deque([record]), until, has_waited=True)
        else:
            held.until, held.has_waited = until, True

    def queue_up(self, record: ReceivedRecord) -> bool:
        """Have a record wait behind one that is held; say whether there is one."""
        held = self._held.get(record.place)
        if held is None:
            return False
        held.records.append(record)
        return True

    def put_off(self, record: ReceivedRecord, now: float) -> None:
        """Have a record wait for its turn: others are due already."""
        self._held[record.place] = _Held(deque([record]), now, has_waited=False)

    def next_due(self) -> float | None:
        """Return when the next pause is over; ``None`` where nothing is held."""
        return min((held.until for held in self._held.values()), default=None)

    def due(self, now: float) -> ReceivedRecord | None:
        """Return the oldest record of the partition that has been due for longest, if one is."""
        held = min(self._held.values(), key=lambda held: held.until, default=None)
        return held.records[0] if held is not None and held.until <= now else None

    def has_waited(self, record: ReceivedRecord) -> bool:
        """Say whether a record that is held has had its pause, and not only waited for its turn."""
        return self._held[record.place].has_waited

    def pass_on(self, record: ReceivedRecord, now: float) -> bool:
        """Leave a record behind, which is done; say whether its partition still stands still.

        The record behind it is due at once, after those that are due already.
        """
        self.done(record)
        held = self._held[record.place]
        held.records.popleft()
        held.until, held.has_waited = now, False
        if not held.records:
            del self._held[record.place]
        return bool(held.records)

    def forget(self, places: Iterable[Place]) -> list[ReceivedRecord]:
        """Drop what is known of partitions that are another consumer's; return what was held."""
        dropped: list[ReceivedRecord] = []
        for place in places:
            self._done.pop(place, None)
            held = self._held.pop(place, None)
            if held is not None:
                dropped += held.records
        return dropped
