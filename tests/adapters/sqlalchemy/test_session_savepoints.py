"""Savepoints: released they are part of the transaction, rolled back they never happened."""

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Happened, Order, Ticket
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_releasing_a_savepoint_stores_and_announces_nothing(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        with session.begin_nested():
            session.get_one(Order, "o1").pay()
        assert any_shop.eager.reserved == []
        assert any_shop.eager.announced == []
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.eager.announced_types == ["test.order.paid"]


def test_a_rollback_after_a_released_savepoint_leaves_no_trace(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        with session.begin_nested():
            session.get_one(Order, "o1").pay()
            session.add(Order.place("o2"))
        session.rollback()
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.eager.reserved == []
    assert any_shop.eager.announced == []


def test_events_of_a_rolled_back_savepoint_go_with_it(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.say_paid(1)
        savepoint = session.begin_nested()
        order.pay(2)
        session.flush()
        order.say_paid(3)
        savepoint.rollback()
        assert len(order.triggered_events) == 1
        order.say_paid(4)
        session.commit()

    assert [place[1:] for place in any_shop.places()[1:]] == [("o1", 2, 0), ("o1", 2, 1)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_an_aggregate_that_raised_events_only_in_a_rolled_back_savepoint_stays_as_it_was(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        with pytest.raises(ZeroDivisionError), session.begin_nested():
            order.pay(1 // 0)
        savepoint = session.begin_nested()
        order.pay()
        savepoint.rollback()
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}


def test_a_version_written_in_a_rolled_back_savepoint_is_written_again(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        savepoint = session.begin_nested()
        order.pay()
        session.flush()
        savepoint.rollback()
        order.say_paid()
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_a_version_written_in_a_released_savepoint_counts(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        with session.begin_nested():
            order.pay()
        order.say_paid()
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]
    assert shop.orders() == {"o1": (True, 2)}


def test_only_the_inner_of_two_savepoints_is_undone(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        with session.begin_nested():
            order.say_paid(1)
            inner = session.begin_nested()
            order.pay(2)
            session.add(Order.place("o2"))
            inner.rollback()
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_the_outer_of_two_savepoints_undoes_what_the_inner_has_released(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        outer = session.begin_nested()
        with session.begin_nested():
            order.pay()
        outer.rollback()
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}


def test_rolling_back_the_outer_savepoint_ends_an_inner_that_is_still_open(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.say_paid(1)
        outer = session.begin_nested()
        order.say_paid(2)
        session.begin_nested()
        order.pay(3)
        outer.rollback()
        session.commit()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_a_new_aggregate_in_a_savepoint_that_an_outer_one_ends_keeps_its_events(
    any_shop: Shop,
) -> None:
    order = Order.place("o1")
    with any_shop.sessions() as session:
        outer = session.begin_nested()
        session.begin_nested()
        session.add(order)
        outer.rollback()
        assert len(order.triggered_events) == 1
        session.add(order)
        session.commit()

    assert any_shop.places() == [("order.placed", "o1", 1, 0)]


def test_a_new_aggregate_of_a_rolled_back_savepoint_may_be_added_again(any_shop: Shop) -> None:
    order = Order.place("o1")
    with any_shop.sessions() as session:
        savepoint = session.begin_nested()
        session.add(order)
        session.flush()
        order.pay()
        savepoint.rollback()
        assert order.is_new
        assert len(order.triggered_events) == 2
        session.commit()
        assert any_shop.rows() == []

        session.add(order)
        session.commit()

    assert any_shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 1, 1)]
    assert any_shop.orders() == {"o1": (True, 1)}


def test_a_new_aggregate_never_flushed_in_a_rolled_back_savepoint_keeps_its_events(
    shop: Shop,
) -> None:
    order = Order.place("o1")
    with shop.sessions() as session:
        savepoint = session.begin_nested()
        session.add(order)
        savepoint.rollback()
        session.commit()
        assert shop.rows() == []
        session.add(order)
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0)]


def test_a_flush_that_fails_in_a_savepoint_takes_its_events_and_no_others(any_shop: Shop) -> None:
    any_shop.place("o1", "o2", "o3")
    with any_shop.sessions() as session:
        order, other = session.get_one(Order, "o1"), session.get_one(Order, "o2")
        order.say_paid(1)
        savepoint = session.begin_nested()
        other.pay(2)
        order.pay(3)
        session.add(Order(id="o3", lines=[]))
        with pytest.raises(IntegrityError):
            session.flush()
        savepoint.rollback()
        session.commit()

    assert any_shop.places()[3:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2), "o2": (False, 1), "o3": (False, 1)}


def test_a_deferred_event_of_a_rolled_back_savepoint_is_never_built(shop: Shop) -> None:
    shop.place("o1")
    built = []

    def build() -> Happened:
        built.append(1)
        return Happened(aggregate_id="o1")

    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        savepoint = session.begin_nested()
        order.collect_event_later(build)
        savepoint.rollback()
        session.commit()

    assert built == []
    assert shop.rows() == ["order.placed"]


def test_an_aggregate_loaded_again_inside_a_savepoint_is_still_known(shop: Shop) -> None:
    with shop.sessions() as session:
        ticket = Ticket(title="lamp")
        ticket.open()
        session.add(ticket)
        with session.begin_nested():
            session.flush()
            session.expire(ticket)
            assert ticket.title == "lamp"
        session.commit()

    assert [version for *_, version, _ in shop.places()] == [1]


def test_a_savepoint_opened_by_hand_after_a_commit_starts_afresh(shop: Shop) -> None:
    sessions = shop.attached(sessionmaker(shop.engine, expire_on_commit=False))
    with sessions() as session:
        order = Order.place("o1")
        session.add(order)
        session.commit()
        savepoint = session.begin_nested()
        order.pay()
        savepoint.rollback()
        session.commit()

    assert shop.rows() == ["order.placed"]


def test_a_commit_while_a_savepoint_is_open_commits_everything_once(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        session.begin_nested()
        session.get_one(Order, "o1").pay()
        session.begin_nested()
        session.add(Order.place("o2"))
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.placed", "o2", 1, 0)]
    assert len(any_shop.eager.announced) == 1


def test_the_end_of_a_block_with_savepoints_still_open_stores_the_events(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        session.begin_nested()
        session.get_one(Order, "o1").pay()
        session.begin_nested()
        session.add(Order.place("o2"))

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.placed", "o2", 1, 0)]
    assert len(any_shop.eager.announced) == 1


def test_releasing_a_savepoint_with_another_open_in_it_stores_nothing_yet(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        outer = session.begin_nested()
        session.begin_nested()
        order = session.get_one(Order, "o1")
        order.pay()
        outer.commit()
        order.say_paid()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]


def test_a_release_that_a_listener_has_stopped_is_not_taken_for_a_commit(shop: Shop) -> None:
    def stop(session: Session) -> None:
        if session.in_nested_transaction():
            raise RuntimeError("not now")

    shop.place("o1")
    event.listen(shop.sessions, "before_commit", stop)
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        savepoint = session.begin_nested()
        with pytest.raises(RuntimeError, match="not now"):
            savepoint.commit()
        savepoint.rollback()
        event.remove(shop.sessions, "before_commit", stop)
        session.begin_nested().commit()
        order.say_paid()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]


def test_a_savepoint_rolled_back_while_an_open_one_is_committed_changes_nothing(
    shop: Shop,
) -> None:
    tried: list[Session] = []

    def try_something(session: Session, *_: object) -> None:
        if not tried:
            tried.append(session)
            session.begin_nested().rollback()

    shop.place("o1")
    with shop.sessions.begin() as session:
        session.begin_nested()
        session.get_one(Order, "o1").pay()
        event.listen(session, "before_flush", try_something)

    assert tried
    assert shop.rows() == ["order.placed", "order.paid"]


def test_a_rollback_while_a_savepoint_is_open_undoes_everything(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        session.begin_nested()
        order.pay()
        session.rollback()
        assert len(order.triggered_events) == 0
        session.commit()

    assert shop.rows() == ["order.placed"]


def test_an_aggregate_whose_write_is_undone_after_it_left_takes_its_events_with_it(
    shop: Shop,
) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.say_paid(1)
        savepoint = session.begin_nested()
        order.pay(2)
        session.flush()
        session.expunge(order)
        savepoint.rollback()
        session.commit()

    assert shop.rows() == ["order.placed"]
    assert len(order.triggered_events) == 1
    assert shop.orders() == {"o1": (False, 1)}


def test_an_event_from_before_a_savepoint_is_written_again_after_its_rollback(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.say_paid(1)
        savepoint = session.begin_nested()
        order.pay(2)
        session.flush()
        savepoint.rollback()
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}
