"""What a session with an outbox has to do, as simply as it can be said: the reference of a model.

    rows      what the transaction has written so far
    members   what its users see: changes and events, flushed or not
    left      events of aggregates that were expunged after they were flushed

A savepoint is a copy of all that; rolled back, the copy is what holds.
"""

import copy
from collections import Counter as Multiset

import attrs

CHANGE, SAY, CHILD, SILENT = "change", "say", "child", "silent"

Place = tuple[str, int, int, str]  # aggregate, version, index, what happened


@attrs.define
class Values:
    """The columns of an aggregate, and the one of its child."""

    count: int = 0
    silent: int = 0
    quantity: int = 0
    version: int = 0


@attrs.define
class Member:
    """An aggregate as its user sees it.

    Attributes:
        values: With changes that are not flushed yet.
        events: What it has raised and nobody has stored.
        written: How many of them it had when this transaction wrote its row; ``None``: not yet.
        is_changed: Whether a change of the aggregate itself is not flushed yet.
        is_child_changed: The same of its child.
        is_new: Whether it has no row.
        is_made: Whether its user has made it in this transaction, and not loaded it.
        left: What it has left behind when it was expunged: it comes back with that.
    """

    values: Values
    events: list[str] = attrs.field(factory=list)
    written: int | None = None
    is_changed: bool = False
    is_child_changed: bool = False
    is_new: bool = False
    is_made: bool = False
    left: list[Place] = attrs.field(factory=list)

    @property
    def is_dirty(self) -> bool:
        return self.is_changed or self.is_child_changed

    def act(self, kind: str, what: str) -> None:
        if kind == CHANGE:
            self.values.count += 1
        elif kind == CHILD:
            self.values.quantity += 1
        elif kind == SILENT:
            self.values.silent += 1
        self.is_changed |= kind in (CHANGE, SILENT)
        self.is_child_changed |= kind == CHILD
        if kind != SILENT:
            self.events.append(what)


@attrs.define
class View:
    """What one transaction sees."""

    rows: dict[str, Values] = attrs.field(factory=dict)
    members: dict[str, Member] = attrs.field(factory=dict)
    left: list[Place] = attrs.field(factory=list)
    records: list[str] = attrs.field(factory=list)

    def member(self, id_: str) -> Member:
        if id_ not in self.members:
            self.members[id_] = Member(copy.copy(self.rows[id_]))
        return self.members[id_]

    def flush(self, *, is_forced: bool = False) -> None:
        """Write what is changed, and with it what has events; a flush of nothing does neither."""
        if is_forced or any(one.is_new or one.is_dirty for one in self.members.values()):
            for id_, member in self.members.items():
                self._flush(id_, member)

    def expunge(self, id_: str) -> Member:
        """Let a member go: what was flushed stays here, with its events."""
        member = self.member(id_)
        del self.members[id_]
        if member.written is not None:
            stays = member.written if member.is_dirty else len(member.events)
            member.left = self._placed(id_, member.events[:stays])
            self.left += member.left
            del member.events[:stays]
        return member

    def take_back(self, id_: str, member: Member) -> None:
        """Take an expunged aggregate back, with what it has left behind, if that is still here."""
        if member.left and all(place in self.left for place in member.left):
            self.left = [place for place in self.left if place not in member.left]
            member.events[:0] = [what for *_, what in member.left]
        else:
            member.written = None
        member.left = []
        self.members[id_] = member

    def take_over(self, id_: str, given: Member) -> None:
        """Merge an expunged aggregate into the one that is here, and write that."""
        self.flush()
        member = self.member(id_)
        member.is_changed = (given.values.count, given.values.silent) != (
            member.values.count,
            member.values.silent,
        )
        member.is_child_changed = given.values.quantity != member.values.quantity
        member.values = copy.copy(given.values)
        member.events += given.events
        self.flush(is_forced=True)

    def expire(self, id_: str) -> None:
        """Discard what is not flushed: a change goes with its events."""
        member = self.member(id_)
        if member.is_dirty:
            del member.events[member.written or 0 :]
        member.values = copy.copy(self.rows[id_])
        member.is_changed = member.is_child_changed = False

    def stored(self) -> list[Place]:
        """Return what the commit has to store of aggregates."""
        flushed = [
            place for id_, one in self.members.items() for place in self._placed(id_, one.events)
        ]
        return self.left + flushed

    @property
    def is_unstored(self) -> bool:
        """Whether something that is written has events that wait for the commit."""
        written = [one for one in self.members.values() if one.written is not None]
        return bool(self.left or self.records or any(one.events for one in written))

    def _flush(self, id_: str, member: Member) -> None:
        row = self.rows.setdefault(id_, Values())
        is_unwritten = bool(member.events) and member.written is None
        if member.is_new or member.is_changed:
            row.count, row.silent = member.values.count, member.values.silent
        if member.is_new or member.is_child_changed:
            row.quantity = member.values.quantity
        if member.is_new or member.is_changed or is_unwritten:
            row.version += 1
            member.written = len(member.events)
        member.values.version = row.version
        member.is_new = member.is_changed = member.is_child_changed = False

    def _placed(self, id_: str, events: list[str]) -> list[Place]:
        version = self.rows[id_].version
        return [(id_, version, index, what) for index, what in enumerate(events)]


@attrs.define
class Database:
    """What everybody sees.

    Attributes:
        rows: Committed aggregates.
        places: Committed events of aggregates.
        records: Committed events without one.
        announced: What the eager path must have been told.
    """

    rows: dict[str, Values] = attrs.field(factory=dict)
    places: list[Place] = attrs.field(factory=list)
    records: list[str] = attrs.field(factory=list)
    announced: "Multiset[str]" = attrs.field(factory=Multiset)


@attrs.define
class Transaction:
    """The open transaction of a session: a view, and a copy of it for each savepoint.

    Attributes:
        database: Where it is committed to.
        base: What it began with; in an outer transaction, that one's content.
        view: What it sees.
        saved: Copies of the view, the outermost savepoint's first.
    """

    base: Database
    view: View = attrs.field(init=False)
    saved: list[View] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.view = View(copy.deepcopy(self.base.rows))

    def begin_nested(self) -> None:
        self.view.flush()
        self.saved.append(copy.deepcopy(self.view))

    def release(self) -> None:
        self.view.flush()
        self.saved.pop()

    def release_all(self) -> None:
        while self.saved:
            self.release()

    def roll_back_savepoint(self) -> dict[str, Member]:
        """Go back to the copy; returns what was new, which keeps its state and its events."""
        undone, self.view = self.view, self.saved.pop()
        new = _made(undone, before=self.view.rows)
        for id_ in [id_ for id_ in self.view.members if id_ not in undone.members]:
            self.view.expunge(id_)
        return new

    def new(self) -> dict[str, Member]:
        """Return what keeps its state and its events when all is rolled back."""
        return _made(self.view, before=self.base.rows)

    def commit(self, *, is_announced: bool) -> None:
        self.view.flush(is_forced=True)
        stored = self.view.stored()
        self.base.rows = self.view.rows
        self.base.places += stored
        self.base.records += self.view.records
        if is_announced:
            self.base.announced.update([what for *_, what in stored] + self.view.records)


def _made(view: View, *, before: dict[str, Values]) -> dict[str, Member]:
    members = view.members.items()
    return {id_: one for id_, one in members if one.is_made and id_ not in before}
