"""What only the repository on SQLAlchemy does; the rest is in the contract."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError, UnitOfWorkError
from pragmatic_ddd.ports import IRepository
from pragmatic_ddd_sqlalchemy import Repository, SqlAlchemyUnitsOfWork
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Booking, Line, Lorry, Note, Order, Ticket, Vehicle
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


class Orders(Repository[Order]):
    def unpaid(self) -> Sequence[Order]:
        return self.session.scalars(sa.select(Order).where(Order.paid.is_(False))).all()  # type: ignore[attr-defined]  # mapped imperatively


def test_a_repository_has_queries_of_its_own(shop: Shop) -> None:
    shop.place("o1", "o2")
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        orders = Orders(Order, work.session)
        port: IRepository[Order] = orders
        for order in orders.unpaid():
            order.pay()
            port.save(order)
        work.commit()

    assert shop.orders() == {"o1": (True, 2), "o2": (True, 2)}
    assert shop.rows() == ["order.placed", "order.placed", "order.paid", "order.paid"]


def test_an_aggregate_is_the_same_instance_within_a_session(shop: Shop) -> None:
    shop.place("o1")
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        orders = Orders(Order, work.session)

        assert orders.find_by_id("o1") is work.get(Order, "o1") is orders.unpaid()[0]


def test_events_are_stored_with_the_version_that_was_written_last(any_shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        orders = Orders(Order, work.session)
        order = Order.place("o1")
        orders.save(order)
        order.pay()
        orders.save(order)
        work.commit()

    assert any_shop.orders() == {"o1": (True, 2)}
    assert any_shop.places() == [("order.placed", "o1", 2, 0), ("order.paid", "o1", 2, 1)]


def test_without_an_outbox_an_aggregate_is_stored_and_its_events_stay_on_it(shop: Shop) -> None:
    order = Order.place("o1")
    with Session(shop.engine, expire_on_commit=False) as session:
        Orders(Order, session).save(order)
        session.commit()

    assert shop.orders() == {"o1": (False, 1)}
    assert (len(order.triggered_events), shop.rows()) == (1, [])


def test_a_lost_race_leaves_no_event(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions(expire_on_commit=False) as session:
        late = session.get_one(Order, "o1")
        assert late.lines
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        late.pay(7)
        with pytest.raises(ConcurrencyError) as refused:
            Orders(Order, work.session).save(late)

    assert refused.value.retryable
    assert len(late.triggered_events) == 0
    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_a_lost_race_to_remove_leaves_aggregate_and_no_event(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions(expire_on_commit=False) as session:
        late = session.get_one(Order, "o1")
        assert late.lines
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        late.say_paid()
        with pytest.raises(ConcurrencyError):
            Orders(Order, work.session).remove(late)

    assert any_shop.orders() == {"o1": (True, 2)}
    assert len(any_shop.rows()) == 2


def test_a_row_that_another_transaction_changes_meanwhile_is_a_lost_race(any_shop: Shop) -> None:
    if any_shop.engine.dialect.name == "sqlite":
        pytest.skip("this database has one writer: the second transaction waits for the first")
    any_shop.place("o1")
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        orders = Orders(Order, work.session)
        late = orders.find_by_id("o1")
        assert late is not None
        with any_shop.sessions.begin() as session:
            session.get_one(Order, "o1").pay()
        with pytest.raises(ConcurrencyError):
            orders.update(late)


def test_the_current_version_is_the_stored_one_not_the_loaded_one(any_shop: Shop) -> None:
    if any_shop.engine.dialect.name == "sqlite":
        pytest.skip("this database has one writer: the second transaction waits for the first")
    any_shop.place("o1")
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        work.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
        orders = Orders(Order, work.session)
        loaded = orders.find_by_id("o1")
        assert loaded is not None
        with any_shop.sessions.begin() as session:
            session.get_one(Order, "o1").pay()

        assert (loaded.version, orders.current_version("o1")) == (1, 2)


def test_an_id_that_the_database_gives_is_there_after_an_insert(any_shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(any_shop.sessions)() as work:
        ticket = Ticket(title="late")
        ticket.open()
        tickets = Repository(Ticket, work.session)
        tickets.insert(ticket)

        assert tickets.current_version(ticket.id) == 1
        work.commit()
    assert [place[1] for place in any_shop.places()] == [str(ticket.id)]


def test_a_key_of_two_columns_is_a_tuple(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        bookings = Repository(Booking, work.session)
        bookings.save(Booking(hotel="ritz", number=7))  # type: ignore[call-arg]  # its id is made of them

        assert bookings.find_by_id(("ritz", 7)) is not None
        assert bookings.current_version(("ritz", 7)) == 1
        assert not bookings.exists_by_id(("ritz", 8))
        for ask in (bookings.exists_by_id, bookings.find_by_id):
            with pytest.raises(ValueError, match=r"^aggregate_id = 'ritz': .* hotel, number$"):
                ask("ritz")


def test_a_class_of_a_hierarchy_has_its_own_aggregates_only(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        Repository(Vehicle, work.session).save(Vehicle(id="v1"))
        lorries = Repository(Lorry, work.session)
        lorries.save(Lorry(id="l1", load=1))

        assert lorries.current_version("l1") == 1
        assert not lorries.exists_by_id("v1")
        assert lorries.find_by_id("v1") is None


def test_an_aggregate_of_another_session_is_refused(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as other, shop.sessions() as session:
        order = other.get_one(Order, "o1")
        for write in (Orders(Order, session).save, Orders(Order, session).remove):
            with pytest.raises(UnitOfWorkError, match="in use elsewhere"):
                write(order)


def test_a_second_instance_of_an_aggregate_is_refused(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        second = session.get_one(Order, "o1")
    with shop.sessions() as session:
        orders = Orders(Order, session)
        first = orders.find_by_id("o1")
        assert first is not second
        with pytest.raises(UnitOfWorkError, match="in use elsewhere"):
            orders.save(second)


def test_an_aggregate_that_nobody_has_loaded_is_refused(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        invented = Order(id="o1", lines=[], version=1)
        with pytest.raises(UnitOfWorkError, match="no session has loaded or stored it"):
            Orders(Order, session).update(invented)


def test_an_aggregate_that_was_expired_elsewhere_is_read_again(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        assert order.lines
        session.rollback()
    with shop.sessions.begin() as session:
        Orders(Order, session).update(order)

    assert shop.orders() == {"o1": (False, 2)}


def test_a_database_that_is_gone_is_an_outbox_store_error(shop: Shop) -> None:
    def refuse(*_: object) -> None:
        raise sa.exc.OperationalError("BEGIN", None, ConnectionRefusedError())

    sa.event.listen(shop.engine, "begin", refuse)
    calls: list[Callable[[Orders], object]] = [
        lambda orders: orders.find_by_id("o1"),
        lambda orders: orders.current_version("o1"),
        lambda orders: orders.save(Order.place("o1")),
    ]
    for call in calls:
        with shop.sessions() as session, pytest.raises(OutboxStoreError):
            call(Orders(Order, session))
    sa.event.remove(shop.engine, "begin", refuse)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (Order(id="o1", lines=[]), "aggregate_type = <Order object>: give a class derived from"),
        (Line, "aggregate_type = <class Line>: give a class derived from AggregateRoot"),
        (Note, "aggregate_type: <class Note> is mapped without a version: give its mapper"),
    ],
)
def test_a_class_that_cannot_be_kept_is_refused(shop: Shop, wrong: object, complaint: str) -> None:
    make: Callable[..., object] = Repository
    with shop.sessions() as session, pytest.raises(TypeError, match=f"^{complaint}"):
        make(wrong, session)


def test_a_class_that_is_not_mapped_and_no_session_are_refused(shop: Shop) -> None:
    class Unmapped(Order):
        pass

    sessions: Any = sessionmaker(shop.engine)
    with pytest.raises(TypeError, match=r"^aggregate_type: <class .*Unmapped> is not mapped$"):
        Repository(Unmapped, Session(shop.engine))
    with pytest.raises(TypeError, match=r"^session = <sessionmaker object>: give a Session$"):
        Repository(Order, sessions)
