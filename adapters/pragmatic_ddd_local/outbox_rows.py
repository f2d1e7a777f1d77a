"""The rows of the outbox in memory, and which of them may be taken without overtaking any."""

import datetime as dt
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

import attrs

from pragmatic_ddd.ports import Backlog, OutboxStatus
from pragmatic_ddd_local.outbox_row import OutboxRow


def _id(row: OutboxRow) -> int:
    return row.id


@attrs.define(eq=False)
class OutboxRows:
    """Committed rows by id, by message and by aggregate. Its user holds the lock."""

    _by_id: dict[int, OutboxRow] = attrs.field(factory=dict, init=False)
    _by_message: dict[str, OutboxRow] = attrs.field(factory=dict, init=False)
    _unsent: defaultdict[tuple[str, str], list[OutboxRow]] = attrs.field(
        factory=lambda: defaultdict(list), init=False
    )

    def __iter__(self) -> Iterator[OutboxRow]:
        return iter(self._by_id.values())

    def add(self, row: OutboxRow) -> None:
        """Add a committed row; its id may be smaller than others': ids are given at the INSERT."""
        self._by_id[row.id] = row
        self._by_message[row.message.message_id] = row
        insort(self._unsent[row.message.aggregate], row, key=_id)

    def find(self, row_id: int) -> OutboxRow | None:
        """Return a row by its id."""
        return self._by_id.get(row_id)

    def find_message(self, message_id: str) -> OutboxRow | None:
        """Return a row by its message."""
        return self._by_message.get(message_id)

    def unsent_of(self, aggregate: tuple[str, str]) -> list[OutboxRow]:
        """Return the unsent rows of an aggregate, in order."""
        return list(self._unsent.get(aggregate, ()))

    def changed(self, row: OutboxRow) -> None:
        """Note that a row has ended, or that one that had ended is unsent again."""
        lane = self._unsent[row.message.aggregate]
        if row.is_unsent and row not in lane:
            insort(lane, row, key=_id)
        if not row.is_unsent and row in lane:
            lane.remove(row)
        if not lane:
            del self._unsent[row.message.aggregate]

    def remove(self, row: OutboxRow) -> None:
        """Forget a row that has ended."""
        del self._by_id[row.id]
        del self._by_message[row.message.message_id]

    def unsent(self) -> Iterator[OutboxRow]:
        """Return all unsent rows."""
        for lane in self._unsent.values():
            yield from lane

    def due(self, now: dt.datetime) -> list[OutboxRow]:
        """Return the rows that are due, oldest due first."""
        due = [row for row in self.unsent() if row.is_open and row.due_at <= now]
        return sorted(due, key=lambda row: (row.due_at, row.id))

    def backlog(self, now: dt.datetime) -> Backlog:
        """Return what is not yet sent, in numbers."""
        rows = list(self.unsent())
        oldest = min((row.created_at for row in rows if row.is_open), default=now)
        return Backlog(
            pending=sum(row.status is OutboxStatus.PENDING for row in rows),
            processing=sum(row.status is OutboxStatus.PROCESSING for row in rows),
            failed=sum(row.status is OutboxStatus.FAILED for row in rows),
            oldest_unsent_age=max(now - oldest, dt.timedelta()),
        )

    def takeable(
        self, wanted: Iterable[OutboxRow], limit: int, confirmed_token: str | None = None
    ) -> list[OutboxRow]:
        """Return those of the wanted rows that can overtake none, at most ``limit``.

        A row is taken only right after all older unsent rows of its aggregate, none of which
        hides it. Rows whose lease has lapsed come apart from others, and alone from the second
        time on. Rows with the confirmed token count as SENT.
        """
        taken: list[OutboxRow] = []
        places = _Places(self._unsent, confirmed_token)
        passed_over: set[OutboxRow] = set()
        for row in wanted:
            if not self._is_next(row, places):
                passed_over.add(row)
            elif row.is_suspect:
                if not taken:
                    return [row]
            elif not taken or row.has_owner == taken[0].has_owner:
                self._take_with_successors(row, passed_over, places, taken)
            if len(taken) >= limit:
                return taken[:limit]
        return taken

    def _take_with_successors(
        self,
        row: OutboxRow,
        passed_over: set[OutboxRow],
        places: "_Places",
        taken: list[OutboxRow],
    ) -> None:
        """Take a row, and those after it that were met before it: they were due earlier."""
        lane = self._unsent[row.message.aggregate]
        for each in lane[places.next_of(row.message.aggregate) :]:
            was_met = each is row or each in passed_over
            if not was_met or each.has_owner != row.has_owner or not self._is_next(each, places):
                break
            taken.append(each)
            places.advance(row.message.aggregate)

    def _is_next(self, row: OutboxRow, places: "_Places") -> bool:
        lane = self._unsent[row.message.aggregate]
        place, first = places.next_of(row.message.aggregate), places.first_of(row.message.aggregate)
        is_hidden = place > first and lane[first].is_hindered
        return not is_hidden and place < len(lane) and lane[place] is row


@attrs.define(eq=False)
class StagedRows:
    """Rows of a transaction that has not yet ended."""

    committed: OutboxRows
    rows: list[OutboxRow] = attrs.field(factory=list, init=False)

    def apply(self) -> None:
        """Add them: the transaction was committed."""
        for row in self.rows:
            self.committed.add(row)

    def undo(self) -> None:
        """Nothing is to be taken back: nobody has seen these rows. Their ids stay unused."""


@attrs.define(eq=False)
class _Places:
    """How far each aggregate's unsent rows are taken, those that count as SENT apart."""

    _unsent: Mapping[tuple[str, str], Sequence[OutboxRow]]
    _confirmed_token: str | None
    _first: dict[tuple[str, str], int] = attrs.field(factory=dict, init=False)
    _next: dict[tuple[str, str], int] = attrs.field(factory=dict, init=False)

    def first_of(self, aggregate: tuple[str, str]) -> int:
        """Return the place of the first row that does not count as SENT."""
        if aggregate not in self._first:
            confirmed = takewhile(self._is_confirmed, self._unsent[aggregate])
            self._first[aggregate] = sum(1 for _ in confirmed)
        return self._first[aggregate]

    def next_of(self, aggregate: tuple[str, str]) -> int:
        """Return the place of the first row that is not taken."""
        return self._next.get(aggregate, self.first_of(aggregate))

    def advance(self, aggregate: tuple[str, str]) -> None:
        """Note that the next row is taken."""
        self._next[aggregate] = self.next_of(aggregate) + 1

    def _is_confirmed(self, row: OutboxRow) -> bool:
        return row.claim_token is not None and row.claim_token == self._confirmed_token
