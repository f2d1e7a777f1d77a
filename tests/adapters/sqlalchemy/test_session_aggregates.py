"""What else a session does with aggregates: delete, expunge, merge, bulk statements."""

import gc
import pickle

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import make_transient, make_transient_to_detached

from pragmatic_ddd.errors import ForeignEventError, UnitOfWorkError
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import (
    Happened,
    Note,
    Order,
    OrderDeleted,
    OrderPaid,
    OrderPlaced,
    Parcel,
    Shipment,
    order_table,
)
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def detached(shop: Shop, order_id: str) -> Order:
    with shop.sessions() as session:
        order = session.get_one(Order, order_id)
        assert order.lines
        session.expunge(order)
    return order


def test_the_event_of_a_deleted_aggregate_is_stored_as_its_last_change(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.collect_event(OrderDeleted(aggregate_id="o1"))
        session.delete(order)

    assert any_shop.places()[1:] == [("order.deleted", "o1", 2, 0)]
    assert any_shop.orders() == {}
    assert len(order.triggered_events) == 0


def test_an_event_raised_after_the_delete_was_flushed_is_stored(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        session.delete(order)
        session.flush()
        order.collect_event(OrderDeleted(aggregate_id="o1"))

    assert shop.places()[1:] == [("order.paid", "o1", 3, 0), ("order.deleted", "o1", 3, 1)]


def test_a_delete_that_is_rolled_back_leaves_no_event(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.collect_event(OrderDeleted(aggregate_id="o1"))
        session.delete(order)
        session.flush()
        session.rollback()
        assert len(order.triggered_events) == 0
        session.commit()

    assert shop.rows() == ["order.placed"]
    assert shop.orders() == {"o1": (False, 1)}


def test_a_delete_in_a_rolled_back_savepoint_does_not_count_as_a_write(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        savepoint = session.begin_nested()
        session.delete(order)
        session.flush()
        savepoint.rollback()
        order.say_paid()
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_an_aggregate_inserted_and_deleted_in_one_transaction_stores_its_events(
    shop: Shop,
) -> None:
    with shop.sessions.begin() as session:
        order = Order.place("o1")
        session.add(order)
        session.flush()
        order.collect_event(OrderDeleted(aggregate_id="o1"))
        session.delete(order)

    assert shop.places() == [("order.placed", "o1", 2, 0), ("order.deleted", "o1", 2, 1)]


def test_a_successor_in_the_same_row_shares_no_place_with_its_predecessor(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.lines.clear()
        session.flush()
        order.collect_event(OrderDeleted(aggregate_id="o1"))
        session.delete(order)
        successor = Order(id="o1", lines=[])
        successor.collect_event(OrderPlaced(aggregate_id="o1"))
        session.add(successor)

    assert shop.places()[1:] == [("order.deleted", "o1", 2, 0), ("order.placed", "o1", 2, 1)]
    assert shop.orders() == {"o1": (False, 2)}


def test_an_aggregate_expunged_before_the_flush_takes_its_events_with_it(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.expunge(order)
        new = Order.place("o2")
        session.add(new)
        session.expunge(new)

    assert shop.rows() == ["order.placed"]
    assert len(order.triggered_events) == 1
    assert len(new.triggered_events) == 1


def test_an_aggregate_expunged_after_the_flush_leaves_its_events_here(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        session.expunge(order)
        new = Order.place("o2")
        session.add(new)
        session.flush()
        session.expunge(new)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.placed", "o2", 1, 0)]
    assert len(order.triggered_events) == 0
    assert len(new.triggered_events) == 0


def test_an_aggregate_expunged_after_a_child_was_flushed_leaves_its_events_here(
    shop: Shop,
) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.change_quantity(7)
        session.flush()
        session.expunge(order)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert shop.orders() == {"o1": (False, 2)}


def test_what_was_not_flushed_when_an_aggregate_is_expunged_goes_with_it(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay(1)
        session.flush()
        order.paid = False
        order.say_paid(2)
        session.expunge(order)
        order.say_paid(3)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert [event.amount for event in order.triggered_events.snapshot()] == [2, 3]  # type: ignore[attr-defined]  # they are OrderPaid
    with shop.sessions.begin() as session:
        session.add(order)
    assert shop.places()[2:] == [("order.paid", "o1", 3, 0), ("order.paid", "o1", 3, 1)]
    assert shop.orders() == {"o1": (False, 3)}


def test_an_aggregate_without_versions_expunged_after_the_flush_leaves_its_events_here(
    shop: Shop,
) -> None:
    with shop.sessions.begin() as session:
        session.add(Note(id="n1", text="old"))
    with shop.sessions.begin() as session:
        note = session.get_one(Note, "n1")
        note.text = "new"
        note.collect_event(Happened(aggregate_id="n1"))
        session.flush()
        session.expunge(note)

    assert shop.rows() == ["happened"]


def test_an_aggregate_expunged_and_added_again_stores_its_events_once(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        session.expunge(order)
        session.add(order)
        order.say_paid()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]


def test_a_rollback_after_the_expunge_drops_what_was_written_here(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay(1)
        session.flush()
        order.paid = False
        order.say_paid(2)
        session.expunge(order)
        session.rollback()

    assert [event.amount for event in order.triggered_events.snapshot()] == [2]  # type: ignore[attr-defined]  # they are OrderPaid
    assert shop.rows() == ["order.placed"]


def test_a_detached_aggregate_brings_its_events_into_the_session_that_it_is_added_to(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    order = detached(any_shop, "o1")
    order.pay()
    with any_shop.sessions.begin() as session:
        session.add(order)
        del order
        gc.collect()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2)}


def test_a_detached_aggregate_added_in_a_rolled_back_savepoint_loses_its_events(
    shop: Shop,
) -> None:
    shop.place("o1")
    order = detached(shop, "o1")
    order.pay()
    with shop.sessions() as session:
        savepoint = session.begin_nested()
        session.add(order)
        savepoint.rollback()
        session.commit()

    assert shop.rows() == ["order.placed"]
    assert shop.orders() == {"o1": (False, 1)}


def test_an_aggregate_reached_by_a_cascade_brings_its_events(shop: Shop) -> None:
    shipment = Shipment(id="s1", parcels=[Parcel(id="p1")])
    shipment.parcels[0].collect_event(Happened(aggregate_id="p1"))
    with shop.sessions.begin() as session:
        session.add(shipment)

    assert shop.places() == [("happened", "p1", 1, 0)]


def test_events_survive_bulk_statements_on_the_aggregates_table(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        session.execute(sa.update(Order).values(paid=True))

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2)}


def test_events_of_an_aggregate_deleted_in_bulk_are_stored(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Order(id="o1", lines=[]))
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.collect_event(OrderDeleted(aggregate_id="o1"))
        session.execute(sa.delete(Order).where(order_table.c.id == "o1"))

    assert shop.places() == [("order.deleted", "o1", 2, 0)]
    assert shop.orders() == {}


def test_a_bulk_insert_beside_an_aggregate_with_events_changes_nothing(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
        session.execute(sa.insert(Order), [{"id": "o2", "paid": False, "version": 1}])

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_saving_aggregates_with_events_in_bulk_is_refused(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.bulk_save_objects([Order(id="o1", version=1, lines=[])])
        with pytest.raises(UnitOfWorkError, match="add"):
            session.bulk_save_objects([Order.place("o2")])

    assert shop.orders() == {"o1": (False, 1)}


def test_an_aggregate_made_transient_takes_its_unwritten_events_with_it(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        make_transient(order)

    assert shop.rows() == ["order.placed"]
    assert len(order.triggered_events) == 1


def test_an_aggregate_known_without_being_loaded_raises_events(shop: Shop) -> None:
    shop.place("o1")
    order = Order(id="o1", lines=[])
    make_transient_to_detached(order)
    with shop.sessions.begin() as session:
        session.add(order)
        session.expire(order)
        order.collect_event(OrderPaid(aggregate_id="o1"))

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_a_change_of_a_child_that_was_not_flushed_leaves_with_its_event(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.change_quantity(7)
        session.flush()
        order.change_quantity(8)
        session.expunge(order)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert [event.amount for event in order.triggered_events.snapshot()] == [8]  # type: ignore[attr-defined]  # they are OrderPaid


def test_a_pickled_aggregate_brings_its_events_where_it_is_added(any_shop: Shop) -> None:
    any_shop.place("o1")
    order = detached(any_shop, "o1")
    order.pay()
    again: Order = pickle.loads(pickle.dumps(order))
    with any_shop.sessions.begin() as session:
        session.add(again)
        again.say_paid()
        del again
        gc.collect()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]
    assert any_shop.orders() == {"o1": (True, 2)}


def test_an_aggregate_made_transient_after_the_flush_leaves_its_events_here(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        make_transient(order)

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2)}
    assert len(order.triggered_events) == 0


def test_an_id_changed_after_an_event_was_raised_is_refused(any_shop: Shop) -> None:
    with any_shop.sessions() as session:
        order = Order.place("provisional")
        session.add(order)
        order.id = "o1"
        with pytest.raises(ForeignEventError, match="'provisional'"):
            session.commit()

    assert any_shop.rows() == []
    assert any_shop.orders() == {}
