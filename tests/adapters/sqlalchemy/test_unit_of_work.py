"""What only the unit of work on SQLAlchemy does; the rest is in the contract."""

import gc
import weakref
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import (
    AggregateNotFoundError,
    ConcurrencyError,
    OutboxStoreError,
    UnitOfWorkError,
)
from pragmatic_ddd.ports import IUnitOfWork
from pragmatic_ddd_sqlalchemy.unit_of_work import SqlAlchemyUnitOfWork
from pragmatic_ddd_sqlalchemy.units_of_work import SqlAlchemyUnitsOfWork
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Booking, Lorry, Order, Vehicle
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_a_unit_of_work_is_the_port(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        port: IUnitOfWork = work
        port.add(Order.place("o1"))
        port.commit()

    assert shop.rows() == ["order.placed"]


def test_a_unit_of_work_that_has_ended_keeps_no_aggregate_alive(shop: Shop) -> None:
    shop.place("o1")
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        order = work.get(Order, "o1")
        order.pay()
        work.commit()
    known = weakref.ref(order)
    del order
    gc.collect()

    assert known() is None
    assert work.session is not None  # it is still here


def test_a_session_may_be_used_beside_it(shop: Shop) -> None:
    shop.place("o1", "o2")
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        for order in work.session.scalars(sa.select(Order)):
            order.pay()
        work.commit()

    assert shop.orders() == {"o1": (True, 2), "o2": (True, 2)}


def stale_order(shop: Shop) -> Order:
    """Return an order as it was before somebody else has paid it."""
    shop.place("o1")
    with shop.sessions() as session:
        late = session.get_one(Order, "o1")
        session.expunge(late)
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    return late


def test_a_stale_version_is_a_concurrency_error_and_leaves_no_event(any_shop: Shop) -> None:
    late = stale_order(any_shop)
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        work.add(late)
        late.say_paid()
        with pytest.raises(ConcurrencyError) as refused:
            work.commit()
        assert refused.value.retryable
        assert len(late.triggered_events) == 0
        with pytest.raises(UnitOfWorkError):
            work.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_a_stale_version_met_by_an_autoflush_is_a_concurrency_error_too(shop: Shop) -> None:
    late = stale_order(shop)
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        work.add(late)
        late.pay()
        with pytest.raises(ConcurrencyError):
            work.get(Order, "o2")


def test_a_row_changed_since_the_snapshot_is_a_concurrency_error(any_shop: Shop) -> None:
    if any_shop.engine.dialect.name == "sqlite":
        pytest.skip("this database has one writer: the second transaction waits for the first")
    any_shop.place("o1")
    strict = any_shop.attached(
        sessionmaker(any_shop.engine.execution_options(isolation_level="SERIALIZABLE"))
        if any_shop.engine.dialect.name == "postgresql"
        else sessionmaker(any_shop.engine.execution_options(isolation_level="REPEATABLE READ"))
    )
    with SqlAlchemyUnitsOfWork(strict)() as work:
        late = work.get(Order, "o1")
        with any_shop.sessions.begin() as session:
            session.get_one(Order, "o1").pay()
        late.say_paid()
        with pytest.raises(ConcurrencyError):
            work.commit()


def test_a_row_deleted_by_others_is_a_concurrency_error(any_shop: Shop) -> None:
    if any_shop.engine.dialect.name == "sqlite":
        pytest.skip("this database has one writer: the second transaction waits for the first")
    any_shop.place("o1")
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        late = work.get(Order, "o1")
        late.say_paid()
        work.session.expire(late, ["version"])
        with any_shop.sessions.begin() as session:
            session.delete(session.get_one(Order, "o1"))
        with pytest.raises(ConcurrencyError):
            work.commit()


def test_a_loaded_aggregate_is_not_stored_as_a_new_one(any_shop: Shop) -> None:
    any_shop.place("o1")
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        order = work.get(Order, "o1")
        order.mark_new()
        order.pay()
        with pytest.raises(UnitOfWorkError, match="'o1' is stored in version 1, and would be"):
            work.commit()

    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.rows() == ["order.placed"]


def test_an_error_of_the_database_keeps_its_cause(any_shop: Shop) -> None:
    any_shop.place("o1")
    new = Order.place("o2")
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        work.add(new)
        work.add(Order.place("o1"))
        with pytest.raises(OutboxStoreError) as refused:
            work.commit()
        assert isinstance(refused.value.__cause__, sa.exc.IntegrityError)
    assert any_shop.rows() == ["order.placed"]

    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        work.add(new)
        work.commit()

    assert any_shop.places()[1:] == [("order.placed", "o2", 1, 0)]


def test_a_database_that_is_gone_is_an_outbox_store_error(shop: Shop) -> None:
    def refuse(*_: object) -> None:
        raise sa.exc.OperationalError("BEGIN", None, ConnectionRefusedError())

    sa.event.listen(shop.engine, "begin", refuse)
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        with pytest.raises(OutboxStoreError):
            work.get(Order, "o1")
        work.add(Order.place("o1"))
        with pytest.raises(OutboxStoreError):
            work.commit()
    sa.event.remove(shop.engine, "begin", refuse)

    assert shop.rows() == []


def test_a_rollback_that_fails_hides_nothing_and_pools_no_broken_connection(shop: Shop) -> None:
    shop.place("o1")

    def refuse(_: object) -> None:
        raise sa.exc.OperationalError("ROLLBACK", None, ConnectionResetError())

    def fail() -> None:
        with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
            work.get(Order, "o1").pay()
            work.session.flush()
            sa.event.listen(shop.engine, "rollback", refuse, once=True)
            raise LookupError

    with pytest.raises(LookupError):
        fail()

    assert shop.orders() == {"o1": (False, 1)}
    assert shop.rows() == ["order.placed"]


def test_a_key_of_two_columns_is_a_tuple(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        work.add(Booking(hotel="ritz", number=7))  # type: ignore[call-arg]  # its id is made of them
        work.commit()
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        assert work.get(Booking, ("ritz", 7)).number == 7


def test_an_aggregate_of_a_sibling_class_is_not_found(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        work.add(Vehicle(id="v1"))
        work.commit()
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work, pytest.raises(AggregateNotFoundError):
        work.get(Lorry, "v1")


def test_after_its_end_it_takes_and_gives_nothing_more(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        work.add(Order.place("o1"))
        work.commit()
        with pytest.raises(UnitOfWorkError, match="ended"):
            work.get(Order, "o1")
        with pytest.raises(UnitOfWorkError, match="ended"):
            work.add(Order.place("o2"))

    assert shop.rows() == ["order.placed"]


def test_a_sessionmaker_without_an_outbox_is_refused(shop: Shop) -> None:
    sessions = sessionmaker(shop.engine)
    with pytest.raises(UnitOfWorkError, match="attach"):
        SqlAlchemyUnitsOfWork(sessions)
    with pytest.raises(UnitOfWorkError, match="attach"):
        SqlAlchemyUnitOfWork(Session(shop.engine))


def test_the_connection_is_given_back_at_the_end(any_shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        assert work.session.get(Order, "o1") is None

    assert any_shop.engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # a QueuePool


def test_async_sessions_make_no_units_of_work(shop: Shop) -> None:
    sessions: Any = async_sessionmaker()
    shop.new_outbox().attach(sessions)

    with pytest.raises(UnitOfWorkError, match="AsyncSession"):
        SqlAlchemyUnitsOfWork(sessions)
