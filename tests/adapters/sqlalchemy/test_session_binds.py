"""Sessions that do not simply own a transaction on one engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import (
    Happened,
    Note,
    Order,
    Ticket,
    metadata,
    outbox_message,
)
from tests.adapters.sqlalchemy.shop import Shop, shop_on

__all__ = ["any_shop", "shop"]

JoinMode = Literal["conditional_savepoint", "rollback_only", "create_savepoint", "control_fully"]
JOIN_MODES = ["conditional_savepoint", "rollback_only", "create_savepoint"]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = create_sqlite_engine(tmp_path / "elsewhere.db")
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.mark.parametrize("mode", JOIN_MODES)
def test_a_session_in_an_outer_transaction_announces_nothing_and_goes_with_it(
    any_shop: Shop, mode: JoinMode
) -> None:
    with any_shop.engine.connect() as connection:
        outer = connection.begin()
        with any_shop.sessions(bind=connection, join_transaction_mode=mode) as session:
            session.add(Order.place("o1"))
            session.commit()
            session.get_one(Order, "o1").pay()
            session.commit()
        rows = connection.scalars(sa.select(outbox_message.c.event_type)).all()
        outer.rollback()

    assert rows == ["test.order.placed", "test.order.paid"]
    assert any_shop.rows() == []
    assert any_shop.orders() == {}
    assert any_shop.eager.reserved == []
    assert any_shop.eager.announced == []


@pytest.mark.parametrize("mode", JOIN_MODES)
def test_rows_of_a_session_in_an_outer_transaction_have_no_owner(
    any_shop: Shop, mode: JoinMode
) -> None:
    with any_shop.engine.begin() as connection:
        sessions = sessionmaker(connection, join_transaction_mode=mode)
        with any_shop.attached(sessions)() as session:
            session.add(Order.place("o1"))
            session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.owners() == [False]
    assert any_shop.eager.announced == []


def test_an_aggregate_bound_to_another_engine_than_the_outbox_is_refused(
    shop: Shop, elsewhere: sa.Engine
) -> None:
    with shop.sessions(binds={Ticket: elsewhere}) as session:
        session.add(Order.place("o1"))
        ticket = Ticket(title="lamp")
        ticket.open()
        session.add(ticket)
        with pytest.raises(UnitOfWorkError, match="same engine"):
            session.commit()

    assert shop.rows() == []
    assert shop.orders() == {}
    with elsewhere.connect() as connection:
        assert connection.scalars(sa.select(Ticket.id)).all() == []


def test_an_unwritten_aggregate_on_another_engine_is_refused_too(
    shop: Shop, elsewhere: sa.Engine
) -> None:
    with Session(elsewhere) as session:
        session.add(Note(id="n1"))
        session.commit()
    with shop.sessions(binds={Note: elsewhere}) as session:
        session.get_one(Note, "n1").collect_event(Happened(aggregate_id="n1"))
        with pytest.raises(UnitOfWorkError, match="same engine"):
            session.commit()

    assert shop.rows() == []


def test_an_aggregate_without_events_may_be_bound_to_another_engine(
    shop: Shop, elsewhere: sa.Engine
) -> None:
    with shop.sessions(binds={Ticket: elsewhere}) as session:
        session.add(Order.place("o1"))
        session.add(Ticket(title="lamp"))
        session.commit()

    assert shop.rows() == ["order.placed"]


def test_an_outbox_bound_beside_its_aggregates_is_found(shop: Shop, elsewhere: sa.Engine) -> None:
    sessions = sessionmaker(elsewhere, binds={Order: shop.engine, outbox_message: shop.engine})
    with shop.attached(sessions).begin() as session:
        session.add(Order(id="o1", lines=[]))
        session.get_one(Order, "o1").pay()

    assert shop.rows() == ["order.paid"]


def test_an_outbox_without_a_bind_is_a_clear_error(shop: Shop) -> None:
    sessions = sessionmaker(binds={Order: shop.engine})
    with shop.attached(sessions)() as session:
        session.add(Order(id="o1", lines=[]))
        session.get_one(Order, "o1").pay()
        with pytest.raises(UnitOfWorkError, match="no bind for the outbox"):
            session.commit()


def test_a_session_on_another_database_than_the_store_is_refused(
    shop: Shop, elsewhere: sa.Engine
) -> None:
    with shop.sessions(bind=elsewhere) as session:
        session.add(Order.place("o1"))
        with pytest.raises(UnitOfWorkError, match="no event would ever be sent"):
            session.commit()

    with elsewhere.connect() as connection:
        assert connection.scalars(sa.select(outbox_message.c.id)).all() == []


def test_another_engine_to_the_same_database_is_fine(shop: Shop) -> None:
    second = create_sqlite_engine(str(shop.engine.url.database))
    with shop.sessions(bind=second) as session:
        session.add(Order.place("o1"))
        session.commit()
    second.dispose()

    assert shop.rows() == ["order.placed"]


def test_an_engine_with_execution_options_is_the_same_engine(shop: Shop) -> None:
    with shop.sessions(bind=shop.engine.execution_options(logging_token="web")) as session:
        session.add(Order.place("o1"))
        session.commit()

    assert shop.rows() == ["order.placed"]


def test_a_sqlite_engine_that_begins_too_late_is_refused(shop: Shop) -> None:
    unprepared = sa.create_engine(shop.engine.url)
    with shop.sessions(bind=unprepared) as session:
        session.add(Order.place("o1"))
        with pytest.raises(UnitOfWorkError, match="make_sqlite_safe"):
            session.commit()
    unprepared.dispose()

    assert shop.rows() == []
    assert shop.orders() == {}


@pytest.mark.service("postgresql")
def test_a_session_in_autocommit_is_refused() -> None:
    with shop_on("postgresql") as shop:
        for bind in (
            shop.engine.execution_options(isolation_level="AUTOCOMMIT"),
            sa.create_engine(shop.engine.url, isolation_level="AUTOCOMMIT"),
        ):
            with shop.sessions(bind=bind) as session:
                session.add(Order.place("o1"))
                with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
                    session.commit()
            bind.dispose()

        assert shop.rows() == []
        assert shop.orders() == {}


@pytest.mark.parametrize("end", ["commit", "prepare", "flush"])
@pytest.mark.parametrize(
    "service",
    [
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ],
)
def test_two_phase_sessions_with_events_are_refused_before_they_write(
    service: str, end: str
) -> None:
    with shop_on(service) as shop, shop.sessions(twophase=True) as session:
        session.add(Order.place("o1"))
        with pytest.raises(UnitOfWorkError, match="two-phase"):
            getattr(session, end)()
        session.rollback()

        assert shop.rows() == []
        assert shop.orders() == {}


def test_a_routing_session_is_asked_as_for_any_insert(shop: Shop, elsewhere: sa.Engine) -> None:
    leader = shop.engine

    class RoutingSession(Session):
        def get_bind(
            self, mapper: object = None, *, clause: object = None, **_: object
        ) -> sa.Engine:
            writes = self._flushing or isinstance(clause, sa.UpdateBase)
            return leader if writes else elsewhere

    sessions = sessionmaker(class_=RoutingSession)
    shop.new_outbox().attach(sessions)
    with sessions.begin() as session:
        session.add(Order.place("o1"))

    assert shop.rows() == ["order.placed"]


def test_a_savepoint_on_an_engine_that_begins_too_late_is_refused(shop: Shop) -> None:
    unprepared = sa.create_engine(shop.engine.url)
    with shop.sessions(bind=unprepared) as session:
        with (
            pytest.raises(UnitOfWorkError, match="make_sqlite_safe"),
            session.begin_nested(),
        ):
            session.add(Order.place("o1"))
        session.rollback()
    unprepared.dispose()

    assert shop.rows() == []
    assert shop.orders() == {}
