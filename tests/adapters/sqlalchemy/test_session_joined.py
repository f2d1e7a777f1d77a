"""Sessions on a connection: somebody else commits, and announces nothing for them."""

import gc
from typing import Literal

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import UnitOfWorkError
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Happened, Order, outbox_message
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]

JoinMode = Literal["conditional_savepoint", "rollback_only", "create_savepoint", "control_fully"]
JOIN_MODES = ["conditional_savepoint", "rollback_only", "create_savepoint"]


def test_a_savepoint_on_the_connection_takes_the_rows_of_a_joined_session(shop: Shop) -> None:
    with shop.engine.begin() as connection:
        savepoint = connection.begin_nested()
        with (
            shop.sessions(bind=connection, join_transaction_mode="create_savepoint") as session,
            session.begin(),
        ):
            session.add(Order.place("o1"))
        savepoint.rollback()

    assert shop.rows() == []


@pytest.mark.parametrize("mode", JOIN_MODES)
def test_a_joined_session_that_rolls_back_leaves_no_event(any_shop: Shop, mode: JoinMode) -> None:
    any_shop.place("o1")
    with any_shop.engine.connect() as connection:
        connection.begin()
        with any_shop.sessions(bind=connection, join_transaction_mode=mode) as session:
            order = session.get_one(Order, "o1")
            order.pay()
            session.add(Order.place("o2"))
            session.flush()
            session.rollback()
            assert len(order.triggered_events) == 0
        if connection.in_transaction():
            connection.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}


@pytest.mark.parametrize("mode", ["conditional_savepoint", "rollback_only"])
def test_changes_that_a_joined_session_left_without_a_commit_are_not_committed(
    any_shop: Shop, mode: JoinMode
) -> None:
    with any_shop.engine.connect() as connection:
        connection.begin()
        with any_shop.sessions(bind=connection, join_transaction_mode=mode) as session:
            session.add(Order.place("o1"))
            session.flush()
        with pytest.raises(UnitOfWorkError, match="commit the session"):
            connection.commit()
        connection.rollback()
        connection.execute(sa.select(outbox_message.c.id))
        connection.commit()

    assert any_shop.rows() == []
    assert any_shop.orders() == {}


def test_changes_of_a_forgotten_session_are_not_committed(any_shop: Shop) -> None:
    with any_shop.engine.connect() as connection:
        connection.begin()
        any_shop.sessions(bind=connection).get(Order, "none")
        gc.collect()
        connection.commit()
        connection.begin()
        forgotten = any_shop.sessions(bind=connection)
        forgotten.add(Order.place("o1"))
        forgotten.flush()
        del forgotten
        gc.collect()
        with pytest.raises(UnitOfWorkError, match="commit the session"):
            connection.commit()

    assert any_shop.rows() == []
    assert any_shop.orders() == {}


def test_what_a_forgotten_session_has_recorded_is_missed(shop: Shop) -> None:
    with shop.engine.connect() as connection:
        connection.begin()
        forgotten = shop.sessions(bind=connection)
        forgotten.execute(sa.insert(Order).values(id="o1", paid=False, version=1))
        shop.outbox.recorder(forgotten).record("test.job", "j1", Happened(aggregate_id="j1"))
        del forgotten
        gc.collect()
        with pytest.raises(UnitOfWorkError, match="commit the session"):
            connection.commit()

    assert shop.orders() == {}


def test_an_outer_block_around_a_session_without_a_commit_is_rolled_back(any_shop: Shop) -> None:
    def forget_to_commit() -> None:
        with any_shop.engine.begin() as connection, any_shop.sessions(bind=connection) as session:
            session.add(Order.place("o1"))
            session.flush()

    with pytest.raises(UnitOfWorkError, match="commit the session"):
        forget_to_commit()

    assert any_shop.rows() == []
    assert any_shop.orders() == {}


def test_a_joined_session_closed_with_its_savepoint_leaves_nothing_to_refuse(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.engine.begin() as connection:
        with any_shop.sessions(
            bind=connection, join_transaction_mode="create_savepoint"
        ) as session:
            session.get_one(Order, "o1").pay()
            session.flush()
        with any_shop.sessions(bind=connection) as session:
            session.begin_nested()
            session.get_one(Order, "o1").pay()
            session.flush()
        with any_shop.sessions(bind=connection) as session:
            session.get_one(Order, "o1").pay()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}


def test_a_commit_of_the_connection_behind_its_session_is_refused(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        with pytest.raises(UnitOfWorkError, match="commit the session"):
            session.connection().commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}


def test_a_commit_of_the_connection_behind_a_recorder_is_refused(any_shop: Shop) -> None:
    with any_shop.sessions() as session:
        session.execute(sa.insert(Order).values(id="o1", paid=False, version=1))
        recorder = any_shop.outbox.recorder(session)
        recorder.record("test.job", "j1", Happened(aggregate_id="j1"))
        with pytest.raises(UnitOfWorkError, match="commit the session"):
            session.connection().commit()

    assert any_shop.rows() == []
    assert any_shop.orders() == {}


def test_a_session_without_events_may_be_committed_by_its_connection(any_shop: Shop) -> None:
    with any_shop.engine.begin() as connection, any_shop.sessions(bind=connection) as session:
        session.add(Order(id="o1", lines=[]))
        session.flush()

    assert any_shop.orders() == {"o1": (False, 1)}
