"""The ground on which stories of a session are told: a shop, the model, and how they compare."""

import json
from collections import Counter as Multiset

import pytest
import sqlalchemy as sa
from hypothesis.stateful import RuleBasedStateMachine, invariant
from sqlalchemy.orm import Session, SessionTransaction, object_session
from sqlalchemy.orm.util import identity_key

from pragmatic_ddd.errors import UnitOfWorkError
from tests.adapters.sqlalchemy.models import Happened, outbox_message
from tests.adapters.sqlalchemy.session_model import Database, Member, Transaction, Values
from tests.adapters.sqlalchemy.shop import Shop
from tests.adapters.sqlalchemy.tally import Mark, Tally, mark_table, tally_table

ENGINE, CONNECTION = "engine", "connection"
JOINED = ["conditional_savepoint", "rollback_only", "create_savepoint", "nested"]
WITHOUT_SAVEPOINT = ["conditional_savepoint", "rollback_only"]
OWN_SAVEPOINT = ["create_savepoint", "nested"]

Loose = dict[str, tuple[Tally, Member]]


class SessionGround(RuleBasedStateMachine):
    """What the rules of a story share."""

    def __init__(self, shop: Shop, reader: sa.Engine) -> None:
        super().__init__()
        self.shop, self.reader = shop, reader
        self.database = Database()
        self.session: Session | None = None
        self.how = ENGINE
        self.connection: sa.Connection | None = None
        self.outer: Database | None = None
        self.story = Transaction(self.database)
        self.savepoints: list[SessionTransaction] = []
        self.held: dict[str, Tally] = {}
        self.new: Loose = {}
        self.detached: Loose = {}
        self.count = 0
        self.number_of_events = 0
        self.is_outer_spoilt = False
        shop.eager.forget()
        shop.eager.cancelled.clear()
        with shop.engine.begin() as connection:
            for table in (mark_table, tally_table, outbox_message):
                connection.execute(sa.delete(table))
            taken = {"id": "taken", "label": "taken", "count": 0, "silent": 0, "version": 1}
            connection.execute(sa.insert(tally_table).values(**taken))

    @invariant()
    def aggregates_have_the_events_of_the_model(self) -> None:
        for id_, held in self.held.items():
            if self.session is not None and object_session(held) is self.session:
                member = self.story.view.members.get(id_)
                assert _whats(held) == ([] if member is None else member.events)

    def teardown(self) -> None:
        if self.session is not None:
            self.session.close()
        if self.connection is not None:
            self.connection.close()

    @property
    def _session(self) -> Session:
        assert self.session is not None
        return self.session

    def _next_event(self) -> str:
        self.number_of_events += 1
        return f"e{self.number_of_events}"

    def _begin(self) -> None:
        self.story = Transaction(self.database if self.outer is None else self.outer)
        self.savepoints.clear()
        if self.how != ENGINE:
            self._session.connection()

    def _end(self) -> None:
        self._check()
        self._begin()

    def _find(self, number: int) -> Tally | None:
        """Return an aggregate, loaded, without a flush."""
        id_ = f"t{number}"
        session = self._session
        with session.no_autoflush:
            pending = [one for one in session.new if isinstance(one, Tally) and one.id == id_]
            found = pending[0] if pending else session.get(Tally, id_)
            if found is not None:
                assert found.marks[0].quantity >= 0
                assert found.count >= 0
                self.held[id_] = found
        return found

    def _is_here(self, id_: str) -> bool:
        keys = identity_key(Tally, id_), identity_key(Mark, f"{id_}-1")
        identities = self._session.identity_map
        pending = {one.id for one in self._session.new if isinstance(one, Tally)}
        return id_ in pending or any(key in identities for key in keys)

    def _savepoint_is_rolled_back(self, level: int) -> None:
        while len(self.story.saved) > level:
            self._keep_new(self.story.roll_back_savepoint())
        del self.savepoints[level:]
        self.detached.clear()

    def _is_rolled_back(self) -> None:
        while self.story.saved:
            self._keep_new(self.story.roll_back_savepoint())
        self._keep_new(self.story.new())
        self.detached.clear()
        self.savepoints.clear()
        if self.how in WITHOUT_SAVEPOINT:
            # It has rolled back the outer transaction.
            self._close_connection()
        else:
            self._end()

    def _keep_new(self, members: dict[str, Member]) -> None:
        for id_, member in members.items():
            new = self.held.pop(id_, None)
            if new is not None:
                assert new.is_new
                assert _whats(new) == member.events
                if {"count", "silent", "marks"} <= new.__dict__.keys():
                    self.new[id_] = new, member

    def _close(self) -> None:
        view = self.story.view
        pending = {id_: one for id_, one in view.members.items() if one.is_new}
        self._session.close()
        self._keep_new(pending)
        if self.how in WITHOUT_SAVEPOINT:
            # What is flushed stays in the outer transaction, which goes on.
            assert self.outer is not None
            stays = self.story.saved[0] if self.story.saved else view
            for id_ in list(stays.members):
                stays.expunge(id_)
            self.is_outer_spoilt |= stays.is_unstored
            self.outer.rows = stays.rows
        self.session = None
        self.held.clear()
        self.detached.clear()
        self.savepoints.clear()
        self._check()

    def _commit_outer(self, outer: sa.RootTransaction) -> None:
        is_unstored = self.session is not None and self.story.view.is_unstored
        if self.is_outer_spoilt or is_unstored:
            with pytest.raises(UnitOfWorkError, match="commit the session"):
                outer.commit()
            outer.rollback()
            return
        outer.commit()
        inner = self.database if self.outer is None else self.outer
        if self.session is not None:
            inner.rows = self.story.view.rows
        self.database.rows = inner.rows
        if self.outer is not None:
            self.database.places += inner.places
            self.database.records += inner.records

    def _close_connection(self) -> None:
        if self.session is not None:
            self.session.close()
        if self.connection is not None:
            self.connection.close()
        self.session = self.connection = self.outer = None
        self.is_outer_spoilt = False
        self.held.clear()
        self.detached.clear()
        self.savepoints.clear()
        self._check()

    def _check(self) -> None:
        """Compare what everybody sees with what must be there."""
        expected, eager = self.database, self.shop.eager
        with self.reader.connect() as connection:
            rows = connection.execute(_ROWS).all()
            stored = connection.execute(_STORED).all()
        assert {id_: Values(*values) for id_, *values in rows} == expected.rows
        places = [
            (id_, version, index, json.loads(payload)["what"])
            for type_, id_, version, index, payload in stored
            if type_ == Tally.aggregate_name
        ]
        for id_ in expected.rows:
            of_it = [place for place in places if place[0] == id_]
            assert of_it == [place for place in expected.places if place[0] == id_]
            assert of_it == sorted(of_it, key=lambda place: place[1:3])
        assert len(places) == len(expected.places)
        records = [json.loads(row.payload)["what"] for row in stored if row[0] == "test.job"]
        assert records == expected.records
        announced = [one for stored_rows, _ in eager.announced for one in stored_rows]
        assert (
            Multiset(json.loads(one.message.payload)["what"] for one in announced)
            == expected.announced
        )
        ended = [reservation for _, reservation in eager.announced] + eager.cancelled
        assert len(ended) == len(eager.reserved)
        assert all(one in ended for one in eager.reserved)


_ROWS = (
    sa.select(
        tally_table.c.id,
        tally_table.c.count,
        tally_table.c.silent,
        mark_table.c.quantity,
        tally_table.c.version,
    )
    .join(mark_table)
    .where(tally_table.c.label.is_(None))
)
_STORED = sa.select(
    outbox_message.c.aggregate_type,
    outbox_message.c.aggregate_id,
    outbox_message.c.aggregate_version,
    outbox_message.c.event_index,
    outbox_message.c.payload,
).order_by(outbox_message.c.id)


def _whats(aggregate: Tally) -> list[str]:
    ready = aggregate.triggered_events.snapshot()
    return [event.what for event in ready if isinstance(event, Happened)]
