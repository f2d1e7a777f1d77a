"""The rows of the outbox in memory, and which of them may be taken without overtaking any."""

import datetime as dt
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator

import attrs

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

    def takeable(self, wanted: Iterable[OutboxRow], limit: int) -> list[OutboxRow]:
        """Return those of the wanted rows that can overtake none, at most ``limit``.

        A row is taken only right after all older unsent rows of its aggregate, none of which
        hides it. A row whose lease has lapsed is taken alone.
        """
        taken: list[OutboxRow] = []
        places: dict[tuple[str, str], int] = {}
        passed_over: set[OutboxRow] = set()
        for row in wanted:
            if not self._is_next(row, places):
                passed_over.add(row)
            elif row.claim_token is None:
                self._take_with_successors(row, passed_over, places, taken)
            elif not taken:
                return [row]
            if len(taken) >= limit:
                return taken[:limit]
        return taken

    def _take_with_successors(
        self,
        row: OutboxRow,
        passed_over: set[OutboxRow],
        places: dict[tuple[str, str], int],
        taken: list[OutboxRow],
    ) -> None:
        """Take a row, and those after it that were met before it: they were due earlier."""
        lane = self._unsent[row.message.aggregate]
        for each in lane[places.get(row.message.aggregate, 0) :]:
            was_met = each is row or each in passed_over
            has_lapsed = each.claim_token is not None  # it comes alone
            if not was_met or has_lapsed or not self._is_next(each, places):
                break
            taken.append(each)
            places[row.message.aggregate] = places.get(row.message.aggregate, 0) + 1

    def _is_next(self, row: OutboxRow, places: dict[tuple[str, str], int]) -> bool:
        lane = self._unsent[row.message.aggregate]
        place = places.get(row.message.aggregate, 0)
        is_hidden = place > 0 and lane[0].is_hindered
        return not is_hidden and place < len(lane) and lane[place] is row
