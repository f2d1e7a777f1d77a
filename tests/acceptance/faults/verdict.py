"""What reached the broker against what was committed."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import attrs
import sqlalchemy as sa

from tests.acceptance.faults.broker.journal import Copy, copies
from tests.acceptance.faults.diary import Note
from tests.acceptance.faults.stage import Stage
from tests.acceptance.tally import tally


@attrs.frozen(kw_only=True)
class Verdict:
    """The figures of one run.

    Attributes:
        events: Committed.
        lost: Committed, and never seen by the broker.
        phantoms: Seen by the broker, and never committed; or stored without their change.
        overtaken: First copies that came after a later event of their aggregate.
        duplicates: Further copies.
        outside_window: Those of them that at-least-once does not excuse.
        errors: Errors that processes logged.
    """

    events: int
    lost: int
    phantoms: int
    overtaken: int
    duplicates: int
    outside_window: int
    errors: int

    @property
    def is_bad(self) -> bool:
        """Whether a promise is broken."""
        return bool(self.lost or self.phantoms or self.overtaken or self.outside_window)


def judge(stage: Stage, journal: Path, *, killed: Sequence[int] = ()) -> Verdict:
    """Judge a run that has ended.

    Args:
        stage: Its tables must still be there.
        journal: Of its topic.
        killed: Process ids that got a SIGKILL or a SIGSTOP.
    """
    arrived = copies(journal)
    notes = stage.diary.read()
    seen = tally(arrived)
    committed, unpaired = _committed(stage)
    ids = {one.event_id for one in arrived}
    return Verdict(
        events=len(committed),
        lost=len(committed - ids),
        phantoms=len(ids - committed) + unpaired,
        overtaken=seen.overtaken,
        duplicates=seen.duplicates,
        outside_window=len(unexcused(arrived, notes, killed)),
        errors=sum(1 for note in notes if note.what == "error"),
    )


def unexcused(arrived: Sequence[Copy], notes: Sequence[Note], killed: Sequence[int]) -> list[Copy]:
    """Return further copies that may not be there.

    A copy is excused where the outcome of the one before it was unknown to its sender, or where
    one of the two senders was out of its lease: it had been killed or stopped, or a result of
    its was refused, and what it had claimed was over when the copy came. An unknown outcome
    excuses one copy.
    """
    unknown: dict[tuple[int, str], list[float]] = defaultdict(list)
    for note in notes:
        for event_id in _about(note, "unconfirmed"):
            unknown[note.process, event_id].append(note.at)
    late = {note.process for note in notes if note.what == "lost_lease"} | set(killed)
    claims: dict[tuple[int, str], list[Note]] = defaultdict(list)
    for note in notes:
        for event_id in _about(note, "claimed"):
            claims[note.process, event_id].append(note)

    def was_late(sent: Copy, now: float) -> bool:
        held = claims[sent.sender, sent.event_id]
        until = [one.until for one in held if one.at <= sent.at]
        return sent.sender in late and bool(until) and until[-1] <= now

    def is_unknown(sent: Copy, now: float) -> bool:
        # A copy may come after its sender has lost patience: so they are counted, not paired.
        sender = (sent.sender, sent.event_id)
        return sum(at <= now for at in unknown[sender]) >= copies_of[sender]

    before: dict[str, Copy] = {}
    copies_of: Counter[tuple[int, str]] = Counter()
    found = []
    for copy in arrived:
        first = before.get(copy.event_id)
        if first is not None and not (
            is_unknown(first, copy.at) or any(was_late(one, copy.at) for one in (first, copy))
        ):
            found.append(copy)
        before[copy.event_id] = copy
        copies_of[copy.sender, copy.event_id] += 1
    return found


def _about(note: Note, what: str) -> Sequence[str]:
    return note.event_ids if note.what == what else ()


def _committed(stage: Stage) -> tuple[set[str], int]:
    """Return the events in the outbox, and by how many they differ from what accounts tell."""
    accounts, outbox = stage.tables()
    stored_of: dict[str, set[str]] = defaultdict(set)
    with stage.judges_engine().connect() as connection:
        for aggregate_id, message_id in connection.execute(
            sa.select(outbox.c.aggregate_id, outbox.c.message_id)
        ):
            stored_of[aggregate_id].add(message_id)
        query = sa.select(accounts.c.id, accounts.c.moves)
        moves = {row.id: row.moves for row in connection.execute(query)}
    unpaired = sum(abs(moves.get(one, 0) - len(ids)) for one, ids in stored_of.items())
    unpaired += sum(count for one, count in moves.items() if one not in stored_of)
    return {one for ids in stored_of.values() for one in ids}, unpaired
