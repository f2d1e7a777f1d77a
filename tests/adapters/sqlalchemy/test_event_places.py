"""Messages that say which event of their aggregate was before theirs."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    EventPlaces,
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    event_places_ddl,
    event_places_table,
)
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.models import (
    Counter,
    Happened,
    Note,
    Order,
    OrderPaid,
    metadata,
    outbox_message,
)
from tests.adapters.sqlalchemy.outboxes import engine_of
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine

_places_metadata = sa.MetaData()
places = event_places_table(_places_metadata, f"{outbox_message.name}_places")


class Ground:
    """Sessions whose orders know their places, and what is in the outbox."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.sessions = self.new_sessions(EventPlaces([Order], places))

    def new_sessions(self, kept: EventPlaces | None) -> sessionmaker[Session]:
        sessions = sessionmaker(self.engine)
        serializer = OrjsonEventSerializer(EventTypeRegistry())
        self.outbox = SqlAlchemyOutbox(
            store=SqlAlchemyOutboxStore(self.engine, outbox_message),
            encoding=EventEncoding(serializer=serializer, headers=lambda: {"correlation-id": "c1"}),
            places=kept,
        )
        self.outbox.attach(sessions)
        return sessions

    def place(self, *order_ids: str) -> None:
        with self.sessions.begin() as session:
            session.add_all(Order.place(order_id) for order_id in order_ids)

    def pay(self, order_id: str = "o1", times: int = 1) -> None:
        with self.sessions.begin() as session:
            for _ in range(times):
                session.get_one(Order, order_id).pay()

    def delete(self, order_id: str = "o1") -> None:
        with self.sessions.begin() as session:
            order = session.get_one(Order, order_id)
            order.say_paid()
            session.delete(order)

    def chain(self) -> list[tuple[str, str | None, str | None]]:
        """Return place, place before, and epoch of each row, in the order of ids."""
        row = outbox_message.c
        columns = row.aggregate_version, row.event_index, row.headers
        with self.engine.connect() as connection:
            found = connection.execute(sa.select(*columns).order_by(row.id)).all()
        chain = []
        for version, index, headers in found:
            said: dict[str, Any] = json.loads(headers)
            assert said["correlation-id"] == "c1"
            place = f"{version}.{index}"
            chain.append((place, said.get("previousplace"), said.get("aggregateepoch")))
        return chain


@pytest.fixture(params=EVERY_DATABASE)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    with _created(engine_of(request.param, tmp_path)) as ground:
        yield ground


class _created:  # noqa: N801  # used as a function
    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Ground:
        metadata.create_all(self.engine)
        _places_metadata.create_all(self.engine)
        return Ground(self.engine)

    def __exit__(self, *_: object) -> None:
        _places_metadata.drop_all(self.engine)
        metadata.drop_all(self.engine)
        self.engine.dispose()


def test_each_event_says_which_one_was_before_it(ground: Ground) -> None:
    ground.place("o1")
    ground.pay(times=2)
    with ground.sessions.begin() as session:
        session.get_one(Order, "o1").paid = False  # a version without an event
    ground.pay()

    assert ground.chain() == [
        ("1.0", "0.0", None),
        ("2.0", "1.0", None),
        ("2.1", "2.0", None),
        ("4.0", "2.1", None),
    ]


def test_orders_do_not_know_each_other(ground: Ground) -> None:
    ground.place("o1", "o2")
    with ground.sessions.begin() as session:
        for order_id in ("o2", "o1"):
            session.get_one(Order, order_id).pay()
    ground.pay("o2")

    assert [previous for _, previous, _ in ground.chain()] == ["0.0", "0.0", "1.0", "1.0", "2.0"]


def test_what_is_rolled_back_moves_no_place(ground: Ground) -> None:
    ground.place("o1")
    with ground.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        session.rollback()
    with ground.sessions.begin() as session, session.begin_nested() as savepoint:
        session.get_one(Order, "o1").pay()
        session.flush()
        savepoint.rollback()
    ground.pay()

    assert ground.chain() == [("1.0", "0.0", None), ("2.0", "1.0", None)]


def test_an_id_that_is_used_again_begins_an_epoch(ground: Ground) -> None:
    ground.place("o1")
    ground.pay()
    ground.delete()
    ground.place("o1")
    ground.pay()
    ground.delete()
    ground.place("o1")

    assert ground.chain() == [
        ("1.0", "0.0", None),
        ("2.0", "1.0", None),
        ("3.0", "2.0", None),
        ("1.0", "3.0", "1"),
        ("2.0", "1.0", "1"),
        ("3.0", "2.0", "1"),
        ("1.0", "3.0", "2"),
    ]


def test_an_id_may_be_used_again_in_the_transaction_that_deletes_it(ground: Ground) -> None:
    ground.place("o1")
    with ground.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        session.delete(order)
        session.flush()
        session.add(Order.place("o1"))

    assert ground.chain() == [("1.0", "0.0", None), ("2.0", "1.0", None), ("1.0", "2.0", "1")]


def test_an_aggregate_that_had_events_before_its_places_were_kept_says_so_later(
    ground: Ground,
) -> None:
    kept, ground.sessions = ground.sessions, ground.new_sessions(None)
    ground.place("o1")
    ground.pay()
    ground.sessions = kept
    ground.pay()
    ground.pay()

    assert ground.chain() == [
        ("1.0", None, None),
        ("2.0", None, None),
        ("3.0", None, None),
        ("4.0", "3.0", None),
    ]


def test_who_has_not_opted_in_pays_nothing(ground: Ground) -> None:
    with statements_of(ground.engine) as statements, ground.sessions.begin() as session:
        counter, note = Counter(id="c1"), Note(id="n1", text="")
        for one in (counter, note):
            one.collect_event(Happened(aggregate_id=one.id))
            session.add(one)

    assert [previous for _, previous, _ in ground.chain()] == [None, None]
    assert not [one for one in statements if places.name in one]


def test_what_is_recorded_has_no_place(ground: Ground) -> None:
    ground.place("o1")
    with ground.sessions.begin() as session:
        recorder = ground.outbox.recorder(session)
        recorder.record("test.order", "o1", OrderPaid(aggregate_id="o1"))
        session.get_one(Order, "o1").pay()
    ground.pay()

    assert [one for one in ground.chain() if one[0] == "None.0"] == [("None.0", None, None)]
    assert [one for one in ground.chain() if one[0] != "None.0"] == [
        ("1.0", "0.0", None),
        ("2.0", "1.0", None),
        ("3.0", "2.0", None),
    ]


@pytest.mark.parametrize("orders", [1, 30])
def test_a_commit_takes_a_fixed_number_of_statements_more(ground: Ground, orders: int) -> None:
    order_ids = [f"o{n}" for n in range(orders)]
    ground.place(*order_ids)

    with statements_of(ground.engine) as statements, ground.sessions.begin() as session:
        for order_id in order_ids:
            session.get_one(Order, order_id).pay()
            session.get_one(Order, order_id).pay()

    about_places = [one for one in statements if places.name in one]
    assert len(about_places) == (2 if ground.engine.dialect.name == "mysql" else 1)
    assert len(ground.chain()) == 3 * orders


def test_a_place_that_cannot_be_kept_keeps_the_change_from_being_committed(ground: Ground) -> None:
    ground.place("o1")
    _places_metadata.drop_all(ground.engine)

    with pytest.raises(Exception, match=places.name):
        ground.pay()

    assert len(ground.chain()) == 1


def _engines() -> list[Any]:
    return [
        pytest.param(sqlite_engine, id="sqlite"),
        *(
            pytest.param(
                lambda _, level=level: postgresql_engine(level),
                id=f"postgresql {level}",
                marks=pytest.mark.service("postgresql"),
            )
            for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
        ),
        *(
            pytest.param(
                lambda _, level=level: mariadb_engine(level),
                id=f"mariadb {level}",
                marks=pytest.mark.service("mariadb"),
            )
            for level in ("READ COMMITTED", "REPEATABLE READ")
        ),
    ]


@pytest.mark.parametrize("engine_in", _engines())
def test_many_at_once_keep_the_chain_of_each(engine_in: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """Those that lose a race, to a version check or to a lock, try again."""
    with _created(engine_in(tmp_path)) as ground:
        ground.place("hot")

        def work(number: int) -> None:
            for turn in range(8):
                _repeated(lambda turn=turn: ground.place(f"o{number}-{turn}"))
                _repeated(lambda: ground.pay("hot"))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))

        chain = ground.chain()
        hot = [one for one in chain if one != ("1.0", "0.0", None)]
        assert len(chain) == 1 + 2 * 32
        assert hot == [(f"{n}.0", f"{n - 1}.0", None) for n in range(2, 34)]


def _repeated(work: Any) -> None:  # noqa: ANN401  # a function
    for _ in range(200):
        try:
            work()
        except (sa.orm.exc.StaleDataError, sa.exc.OperationalError, OutboxStoreError):
            continue
        return
    pytest.fail("it never got through")


@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "mariadb", "sqlite"])
def test_a_migration_is_given_the_table(dialect: str) -> None:
    [table] = event_places_ddl(dialect)

    assert table.startswith("CREATE TABLE event_places")


@pytest.mark.parametrize("wrong", [Happened, "test.order", Order(id="1", lines=[])])
def test_what_is_no_class_of_aggregates_is_refused(wrong: Any) -> None:  # noqa: ANN401  # the point
    with pytest.raises(TypeError, match="aggregate_types"):
        EventPlaces([wrong])
