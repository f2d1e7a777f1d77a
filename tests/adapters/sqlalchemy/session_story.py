"""Stories of a session: each rule is something that a user does with it, or that befalls it."""

import gc

import pytest
import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from sqlalchemy.exc import IntegrityError

from pragmatic_ddd.errors import EventSerializationError
from tests.adapters.sqlalchemy.models import Happened, RateQuoted
from tests.adapters.sqlalchemy.session_ground import (
    CONNECTION,
    ENGINE,
    JOINED,
    OWN_SAVEPOINT,
    SessionGround,
)
from tests.adapters.sqlalchemy.session_model import (
    CHANGE,
    CHILD,
    SAY,
    SILENT,
    Database,
    Member,
    Values,
)
from tests.adapters.sqlalchemy.tally import Tally

MOST_SAVEPOINTS = 3
MOST_AGGREGATES = 4

which = st.integers(min_value=0, max_value=MOST_AGGREGATES - 1)
kinds = st.sampled_from([CHANGE, SAY, CHILD, SILENT])
acts = st.lists(st.tuples(which, kinds), min_size=1, max_size=4)
in_session = precondition(lambda self: self.session is not None)
in_savepoint = precondition(lambda self: bool(self.savepoints))


class SessionStory(SessionGround):
    """One session after the other, each through whatever a user may do with it."""

    # Sessions

    @initialize(autoflush=st.booleans())
    def open_with_aggregates(self, *, autoflush: bool) -> None:
        self.open(ENGINE, autoflush=autoflush)
        for kind in (CHANGE, SAY, SILENT):
            self.add(kind)
        self.commit(expires=True)

    @precondition(lambda self: self.session is None)
    @rule(how=st.sampled_from([ENGINE, ENGINE, CONNECTION, *JOINED]), autoflush=st.booleans())
    def open(self, how: str, *, autoflush: bool) -> None:
        if self.connection is None:
            self.how = how
        bind: sa.Engine | sa.Connection = self.shop.engine
        mode = "conditional_savepoint" if self.how in (ENGINE, CONNECTION, "nested") else self.how
        if self.how != ENGINE:
            if self.connection is None:
                self.connection = self.shop.engine.connect()
                if self.how in JOINED:
                    self.connection.begin()
                    self.outer = Database(dict(self.database.rows))
                if self.how == "nested":
                    self.connection.begin_nested()
            bind = self.connection
        self.session = self.shop.sessions(
            bind=bind, autoflush=autoflush, join_transaction_mode=mode
        )
        self._begin()

    @in_session
    @rule(expires=st.booleans())
    def commit(self, *, expires: bool) -> None:
        session = self._session
        session.expire_on_commit = expires
        session.commit()
        self.story.release_all()
        self.story.commit(is_announced=self.how == ENGINE)
        self._end()

    @in_session
    @rule(how=st.sampled_from(["roll back", "close", "reset"]))
    def give_up(self, how: str) -> None:
        if how == "roll back":
            self._session.rollback()
            self._is_rolled_back()
        elif how == "reset":
            self._session.reset()
            self._close()
        else:
            self._close()

    @precondition(lambda self: self.connection is not None)
    @rule(commits=st.booleans(), closes=st.booleans())
    def end_outer(self, *, commits: bool, closes: bool) -> None:
        """End the connection's transaction: after the session, or behind its back."""
        if self.session is not None and (closes or self.savepoints or self.how in OWN_SAVEPOINT):
            self._close()
        assert self.connection is not None
        outer = self.connection.get_transaction()
        if outer is not None and commits:
            self._commit_outer(outer)
        elif outer is not None:
            outer.rollback()
        self._close_connection()

    # Aggregates

    @in_session
    @precondition(lambda self: self.count < MOST_AGGREGATES)
    @rule(kind=kinds)
    def add(self, kind: str) -> None:
        id_ = f"t{self.count}"
        self.count += 1
        new = self.held[id_] = Tally.opened(id_)
        member = Member(Values(), is_new=True, is_made=True)
        what = self._next_event()
        new.act(kind, what)
        member.act(kind, what)
        self._session.add(new)
        self.story.view.members[id_] = member

    @in_session
    @rule(acts=acts)
    def act(self, acts: list[tuple[int, str]]) -> None:
        for number, kind in acts:
            found = self._find(number)
            if found is not None:
                what = self._next_event()
                found.act(kind, what)
                self.story.view.member(found.id).act(kind, what)

    @in_session
    @rule(number=which, kind=kinds, flushes=st.booleans())
    def expunge(self, number: int, kind: str, *, flushes: bool) -> None:
        self.act([(number, kind)])
        if flushes:
            self.flush()
        found = self._find(number)
        if found is not None:
            self._session.expunge(found)
            id_ = found.id
            self.held.pop(id_, None)
            member = self.story.view.expunge(id_)
            loose = self.new if member.is_new else self.detached
            loose[id_] = found, member

    @in_session
    @precondition(lambda self: bool(self.detached))
    @rule(data=st.data())
    def bring_back(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(self.detached)))
        given, member = self.detached.pop(id_)
        self._session.flush()
        self.story.view.flush()
        row = self.story.view.rows.get(id_)
        if row is None or row.version != member.values.version:
            return
        if id_ not in self.story.base.rows:
            # SQLAlchemy has forgotten that it was inserted here, which a rollback would need.
            return
        if self._is_here(id_):
            self._session.merge(given)
            self._session.flush()
            self.story.view.take_over(id_, member)
        else:
            self._session.add(given)
            self.story.view.take_back(id_, member)

    @in_session
    @precondition(lambda self: bool(self.new))
    @rule()
    def add_again(self) -> None:
        for id_, (new, member) in self.new.items():
            self._session.add(new)
            member.is_new, member.written = True, None
            self.story.view.members[id_] = member
        self.new.clear()

    @in_session
    @rule(number=which, kind=kinds, how=st.sampled_from(["expire", "expire all", "refresh"]))
    def discard(self, number: int, kind: str, how: str) -> None:
        self.act([(number, kind)])
        found, view = self._find(number), self.story.view
        if how == "expire all":
            self._session.expire_all()
            for id_ in [id_ for id_, member in view.members.items() if not member.is_new]:
                view.expire(id_)
        elif found is not None and found not in self._session.new:
            getattr(self._session, how)(found)
            view.expire(found.id)
            if how == "refresh" and self._session.autoflush:
                view.flush()

    @in_session
    @rule()
    def drop_references(self) -> None:
        self.held.clear()
        gc.collect()
        members = self.story.view.members
        for id_ in [id_ for id_ in members if not self._is_here(id_)]:
            gone = members.pop(id_)
            assert not gone.events
            assert not gone.is_dirty

    @in_session
    @rule()
    def record(self) -> None:
        what = self._next_event()
        recorder = self.shop.outbox.recorder(self._session)
        recorder.record("test.job", "j1", Happened(aggregate_id="j1", what=what))
        self.story.view.records.append(what)

    # Flushes and savepoints

    @in_session
    @rule()
    def flush(self) -> None:
        self._session.flush()
        self.story.view.flush()

    @in_session
    @rule()
    def query(self) -> None:
        self._session.scalars(sa.select(Tally)).all()
        if self._session.autoflush:
            self.story.view.flush()

    @in_session
    @precondition(lambda self: len(self.savepoints) < MOST_SAVEPOINTS)
    @rule()
    def begin_nested(self) -> None:
        self.savepoints.append(self._session.begin_nested())
        self.story.begin_nested()

    @in_session
    @in_savepoint
    @rule()
    def release(self) -> None:
        self.savepoints.pop().commit()
        self.story.release()

    @in_session
    @in_savepoint
    @rule(outer=st.integers(min_value=0, max_value=1))
    def roll_back_savepoint(self, outer: int) -> None:
        level = max(0, len(self.savepoints) - 1 - outer)
        rows = self.story.saved[level].rows
        if any(id_ not in rows for id_ in self.story.view.rows):
            # SQLAlchemy forgets what an inner savepoint has inserted when an outer one ends it.
            level = len(self.savepoints) - 1
        self.savepoints[level].rollback()
        self._savepoint_is_rolled_back(level)

    @in_session
    @rule(acts=acts, flushes=st.booleans(), releases=st.booleans())
    def act_in_savepoint(
        self, acts: list[tuple[int, str]], *, flushes: bool, releases: bool
    ) -> None:
        self.begin_nested()
        self.act(acts)
        if flushes:
            self.flush()
        if releases:
            self.release()
        else:
            self.roll_back_savepoint(0)

    # Failures

    @in_session
    @rule(number=which, how=st.sampled_from(["flush", "commit", "encode", "database"]))
    def fail(self, number: int, how: str) -> None:
        if how == "encode":
            self._fail_to_encode(number)
        elif how == "database":
            self._fail_to_commit()
        else:
            self._fail_to_flush(in_commit=how == "commit")

    def _fail_to_flush(self, *, in_commit: bool) -> None:
        self._session.add(Tally.opened(f"x{self.count}", label="taken"))
        with pytest.raises(IntegrityError):
            (self._session.commit if in_commit else self._session.flush)()
        if self.savepoints and not in_commit:
            level = len(self.savepoints) - 1
            self.savepoints[level].rollback()
            self._savepoint_is_rolled_back(level)
        else:
            self._session.rollback()
            self._is_rolled_back()

    def _fail_to_encode(self, number: int) -> None:
        found = self._find(number)
        if found is not None:
            found.collect_event(RateQuoted(aggregate_id=found.id, rate=float("nan")))
            with pytest.raises(EventSerializationError):
                self._session.commit()
            self._session.rollback()
            found.triggered_events.remove(RateQuoted)
            self.story.release_all()
            self._is_rolled_back()

    def _fail_to_commit(self) -> None:
        def refuse(_: sa.Connection) -> None:
            raise IntegrityError("COMMIT", None, ValueError("deferred constraint"))

        if self.how == ENGINE:
            self._session.connection()
            sa.event.listen(self.shop.engine, "commit", refuse)
            with pytest.raises(IntegrityError):
                self._session.commit()
            sa.event.remove(self.shop.engine, "commit", refuse)
            self._session.rollback()
            self.story.release_all()
            self._is_rolled_back()
