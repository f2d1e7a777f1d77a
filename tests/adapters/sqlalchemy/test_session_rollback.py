"""Transactions that end without a commit: nothing stored, nothing announced, nothing left over."""

import gc
import weakref

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, make_transient, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from pragmatic_ddd.errors import EventSerializationError, OutboxStoreError
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import (
    Happened,
    Order,
    OrderPaid,
    RateQuoted,
    Ticket,
    outbox_message,
)
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_a_rollback_drops_the_events_of_loaded_aggregates(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        session.rollback()
        assert len(order.triggered_events) == 0
        assert not order.paid
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.eager.announced == []


def test_a_rollback_keeps_the_events_of_new_aggregates_for_the_next_try(any_shop: Shop) -> None:
    order = Order.place("o1")
    with any_shop.sessions() as session:
        session.add(order)
        session.flush()
        session.rollback()
        assert order.is_new
        assert len(order.triggered_events) == 1
        session.commit()
        assert any_shop.rows() == []
        session.add(order)
        session.commit()

    assert any_shop.places() == [("order.placed", "o1", 1, 0)]


def test_a_new_aggregate_may_go_to_another_session_after_a_rollback(shop: Shop) -> None:
    order = Order.place("o1")
    with shop.sessions() as session:
        session.add(order)
        session.rollback()
    with shop.sessions.begin() as session:
        session.add(order)

    assert shop.places() == [("order.placed", "o1", 1, 0)]


def test_an_exception_in_the_block_rolls_back(shop: Shop) -> None:
    shop.place("o1")
    with pytest.raises(ZeroDivisionError), shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay(1 // 0)

    assert shop.rows() == ["order.placed"]


def test_closing_without_a_commit_stores_nothing_and_leaks_nothing(any_shop: Shop) -> None:
    any_shop.place("o1", "o2")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        session.close()
        assert len(order.triggered_events) == 0
        session.get_one(Order, "o2").say_paid()
        session.commit()

    assert any_shop.places()[2:] == [("order.paid", "o2", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 1), "o2": (False, 2)}


def test_an_unflushed_change_keeps_its_event_when_the_session_is_closed(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
    assert shop.rows() == ["order.placed"]

    with shop.sessions.begin() as session:
        session.add(order)

    assert shop.orders() == {"o1": (True, 2)}
    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_closing_inside_a_savepoint_leaves_nothing_behind(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        session.begin_nested()
        order.pay()
        session.flush()
        session.close()
        session.commit()

    assert shop.rows() == ["order.placed"]
    assert len(order.triggered_events) == 0


def test_a_new_aggregate_never_flushed_keeps_its_events_when_the_session_is_closed(
    shop: Shop,
) -> None:
    order = Order.place("o1")
    with shop.sessions() as session:
        session.add(order)
    with shop.sessions.begin() as session:
        session.add(order)

    assert shop.places() == [("order.placed", "o1", 1, 0)]


def test_a_new_aggregate_that_was_flushed_keeps_its_events_when_the_session_is_closed(
    shop: Shop,
) -> None:
    order = Order.place("o1")
    with shop.sessions() as session:
        session.add(order)
        session.flush()

    assert shop.rows() == []
    assert len(order.triggered_events) == 1
    make_transient(order)
    with shop.sessions.begin() as session:
        session.add(order)
    assert shop.places() == [("order.placed", "o1", 1, 0)]


def test_a_failed_flush_drops_and_keeps_by_the_same_rule(any_shop: Shop) -> None:
    any_shop.place("o1", "o2")
    new = Order.place("o3")
    with any_shop.sessions() as session:
        loaded = session.get_one(Order, "o1")
        loaded.pay()
        session.add(new)
        session.add(Order.place("o2"))
        with pytest.raises(IntegrityError):
            session.commit()
        session.rollback()
        assert len(loaded.triggered_events) == 0
        assert len(new.triggered_events) == 1
        assert new.is_new
        session.add(new)
        session.commit()

    assert any_shop.places()[2:] == [("order.placed", "o3", 1, 0)]
    assert any_shop.orders() == {"o1": (False, 1), "o2": (False, 1), "o3": (False, 1)}
    assert any_shop.eager.announced_types == ["test.order.placed"]


def test_a_commit_that_the_database_refuses_gives_back_its_reservation(shop: Shop) -> None:
    new = Order.place("o1")
    sessions = shop.attached(sessionmaker(shop.engine))

    def refuse(connection: sa.Connection) -> None:
        raise IntegrityError("COMMIT", None, ValueError("deferred constraint"))

    with sessions() as session:
        session.add(new)
        sa.event.listen(shop.engine, "commit", refuse)
        with pytest.raises(IntegrityError):
            session.commit()
        sa.event.remove(shop.engine, "commit", refuse)
        session.rollback()
        assert shop.eager.cancelled == shop.eager.reserved
        assert len(shop.eager.cancelled) == 1
        assert len(new.triggered_events) == 1
        session.add(new)
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0)]
    assert shop.eager.announced_types == ["test.order.placed"]
    assert len(shop.eager.cancelled) == 1


def test_an_event_that_cannot_be_written_keeps_its_change_from_being_stored(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        order.collect_event(RateQuoted(aggregate_id="o1", rate=float("nan")))
        with pytest.raises(EventSerializationError, match="rate"):
            session.commit()
        session.rollback()
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.eager.reserved == []


def test_an_outbox_that_cannot_be_written_fails_the_commit(any_shop: Shop) -> None:
    any_shop.place("o1")
    [message_id] = _message_ids(any_shop)
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        order.collect_event(OrderPaid(aggregate_id="o1", event_id=message_id))
        with pytest.raises(OutboxStoreError):
            session.commit()
        assert any_shop.eager.cancelled == any_shop.eager.reserved
        session.rollback()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}
    assert len(any_shop.eager.cancelled) == 1


def test_a_commit_tried_again_without_a_rollback_stores_everything_or_nothing(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        order.collect_event(RateQuoted(aggregate_id="o1", rate=float("nan")))
        with pytest.raises(EventSerializationError):
            session.commit()
        order.triggered_events.remove(RateQuoted)
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert shop.orders() == {"o1": (True, 2)}


def test_a_deferred_event_that_fails_is_built_again_by_the_next_try(shop: Shop) -> None:
    answers = iter(["", "later"])
    ticket = Ticket(title="lamp")

    def build() -> Happened:
        answer = next(answers)
        if not answer:
            raise LookupError
        return Happened(aggregate_id=str(ticket.id), what=answer)

    ticket.collect_event_later(build)
    with shop.sessions() as session:
        session.add(ticket)
        with pytest.raises(LookupError):
            session.commit()
        session.rollback()
        session.add(ticket)
        session.commit()

    assert [place[2:] for place in shop.places()] == [(1, 0)]


def test_who_comes_second_stores_neither_change_nor_event(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        late = session.get_one(Order, "o1")
        session.expunge(late)
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    with any_shop.sessions() as session:
        session.add(late)
        late.say_paid()
        with pytest.raises(StaleDataError):
            session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_an_event_id_that_is_stored_already_is_refused(shop: Shop) -> None:
    shop.place("o1")
    [message_id] = _message_ids(shop)
    with shop.sessions() as session:
        session.get_one(Order, "o1").collect_event(
            OrderPaid(aggregate_id="o1", event_id=message_id)
        )
        with pytest.raises(RefusedByDatabaseError):
            session.commit()


def test_a_session_that_has_ended_holds_no_aggregate(shop: Shop) -> None:
    shop.place("o1", "o2")
    session = shop.sessions()
    gone = [weakref.ref(session.get_one(Order, "o1")), weakref.ref(_paid(session, "o2"))]
    session.commit()
    gone.append(weakref.ref(_paid(session, "o1")))
    session.rollback()
    gc.collect()

    assert [one() for one in gone] == [None, None, None]
    session.close()


def _paid(session: Session, order_id: str) -> Order:
    order = session.get_one(Order, order_id)
    order.pay()
    return order


def _message_ids(shop: Shop) -> list[str]:
    with shop.engine.connect() as connection:
        return list(connection.scalars(sa.select(outbox_message.c.message_id)))
