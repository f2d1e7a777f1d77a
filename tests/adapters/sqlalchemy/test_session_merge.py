"""merge(): events of the given instance are carried to its copy, or the merge is refused."""

import gc

import pytest

from pragmatic_ddd.errors import UnitOfWorkError
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Happened, Order, Parcel, Shipment, Ticket
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def detached(shop: Shop, order_id: str) -> Order:
    with shop.sessions() as session:
        order = session.get_one(Order, order_id)
        assert order.lines
        session.expunge(order)
    return order


def test_merge_carries_the_events_to_the_copy(any_shop: Shop) -> None:
    any_shop.place("o1")
    given = detached(any_shop, "o1")
    given.pay()
    with any_shop.sessions.begin() as session:
        session.merge(given)
        gc.collect()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2)}
    assert len(given.triggered_events) == 0


def test_a_merge_that_changes_no_column_gets_a_new_version(any_shop: Shop) -> None:
    any_shop.place("o1")
    given = detached(any_shop, "o1")
    given.say_paid()
    with any_shop.sessions.begin() as session:
        session.merge(given)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_a_merge_that_changes_only_a_child_gets_a_new_version(any_shop: Shop) -> None:
    any_shop.place("o1")
    given = detached(any_shop, "o1")
    given.lines[0].quantity += 1
    given.say_paid()
    with any_shop.sessions.begin() as session:
        session.merge(given)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_a_version_that_is_set_to_what_it_was_is_raised_all_the_same(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.version = 1
        order.say_paid()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_merging_a_new_aggregate_stores_its_events(shop: Shop) -> None:
    given = Order.place("o1")
    with shop.sessions.begin() as session:
        [merged] = session.merge_all([given])
        merged.say_paid()

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 1, 1)]


def test_a_merge_that_is_rolled_back_can_be_repeated(shop: Shop) -> None:
    shop.place("o1")
    given = detached(shop, "o1")
    given.pay()
    with shop.sessions() as session:
        merged = session.merge(given)
        session.rollback()
        assert len(merged.triggered_events) == 0
        assert len(given.triggered_events) == 1
        session.merge(given)
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_merging_twice_stores_each_event_once(shop: Shop) -> None:
    shop.place("o1")
    given = detached(shop, "o1")
    given.pay(1)
    with shop.sessions.begin() as session, session.no_autoflush:
        session.merge(given)
        given.say_paid(2)
        session.merge(given)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]
    assert len(given.triggered_events) == 0


def test_a_merge_in_a_rolled_back_savepoint_leaves_the_events_where_they_were(
    shop: Shop,
) -> None:
    shop.place("o1")
    given = detached(shop, "o1")
    given.pay()
    with shop.sessions() as session:
        savepoint = session.begin_nested()
        session.merge(given)
        savepoint.rollback()
        session.merge(given)
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_merging_an_aggregate_of_this_session_changes_nothing(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        assert session.merge(order) is order

    assert shop.rows() == ["order.placed", "order.paid"]


def test_merging_without_loading_carries_the_events_too(shop: Shop) -> None:
    shop.place("o1")
    given = detached(shop, "o1")
    given.say_paid()
    with shop.sessions.begin() as session:
        session.merge(given, load=False)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_merging_deferred_events_is_refused(shop: Shop) -> None:
    ticket = Ticket(title="lamp")
    ticket.open()
    with shop.sessions() as session:
        with pytest.raises(UnitOfWorkError, match="deferred"):
            session.merge(ticket)
        assert len(ticket.triggered_events) == 1


def test_a_merge_that_would_lose_the_events_of_another_aggregate_is_refused(shop: Shop) -> None:
    shipment = Shipment(id="s1", parcels=[Parcel(id="p1")])
    shipment.parcels[0].collect_event(Happened(aggregate_id="p1"))
    with shop.sessions() as session, pytest.raises(UnitOfWorkError, match="merge it by itself"):
        session.merge(shipment)


def test_merging_what_has_left_its_events_here_stores_them_once(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        given = session.get_one(Order, "o1")
        given.pay(1)
        session.flush()
        session.expunge(given)
        given.say_paid(2)
        session.merge(given)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 3, 0)]
    assert len(given.triggered_events) == 0
