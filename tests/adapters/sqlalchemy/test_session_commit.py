"""A plain session with the outbox attached: what a commit stores, and in which place."""

import gc

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd.errors import UnitOfWorkError
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import (
    Line,
    Order,
    OrderPaid,
    order_table,
)
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_a_commit_stores_aggregates_and_events_and_announces_them(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
        assert any_shop.eager.announced == []

    assert any_shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2)}
    assert any_shop.eager.announced_types == ["test.order.paid"]
    assert any_shop.eager.cancelled == []


def test_what_is_announced_are_the_stored_rows_and_their_reservation(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Order.place("o1"))

    [(stored, reservation)] = shop.eager.announced
    assert shop.eager.reserved == [reservation]
    assert reservation is not None
    assert [one.claim and one.claim.claim_token for one in stored] == [reservation.claim_token]
    assert shop.owners() == [True]


def test_without_room_in_the_eager_path_rows_have_no_owner(shop: Shop) -> None:
    shop.eager.is_full = True
    with shop.sessions.begin() as session:
        session.add(Order.place("o1"))

    assert shop.owners() == [False]
    [(stored, reservation)] = shop.eager.announced
    assert len(stored) == 1
    assert reservation is None


def test_an_outbox_without_an_eager_path_stores_just_the_same(shop: Shop) -> None:
    outbox = shop.new_outbox()
    outbox.eager = None
    sessions = sessionmaker(shop.engine)
    outbox.attach(sessions)
    with sessions.begin() as session:
        session.add(Order.place("o1"))

    assert shop.rows() == ["order.placed"]
    assert shop.eager.reserved == []


def test_a_commit_without_events_reserves_and_announces_nothing(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Order(id="o1", lines=[]))
    with shop.sessions() as session:
        session.commit()

    assert shop.rows() == []
    assert shop.eager.reserved == []
    assert shop.eager.announced == []


def test_the_next_transaction_of_the_same_session_stores_only_what_is_new(shop: Shop) -> None:
    with shop.sessions() as session:
        order = Order.place("o1")
        session.add(order)
        session.commit()
        assert len(order.triggered_events) == 0
        order.pay()
        session.commit()
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]


def test_events_of_one_transaction_get_the_last_version_that_the_flush_wrote(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    for _ in range(2):
        with any_shop.sessions.begin() as session:
            order = session.get_one(Order, "o1")
            order.paid = not order.paid
            order.say_paid(1)
            session.flush()
            order.paid = not order.paid
            order.say_paid(2)

    assert any_shop.places()[1:] == [
        ("order.paid", "o1", 3, 0),
        ("order.paid", "o1", 3, 1),
        ("order.paid", "o1", 5, 0),
        ("order.paid", "o1", 5, 1),
    ]


def test_an_aggregate_of_which_only_a_child_changed_gets_a_new_version(any_shop: Shop) -> None:
    any_shop.place("o1")
    for quantity in (2, 3):
        with any_shop.sessions.begin() as session:
            session.get_one(Order, "o1").change_quantity(quantity)

    assert [version for *_, version, _ in any_shop.places()] == [1, 2, 3]
    assert any_shop.orders() == {"o1": (False, 3)}
    with any_shop.sessions() as session:
        assert session.get_one(Line, "o1-1").quantity == 3


def test_an_event_without_any_change_gets_a_new_version(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").say_paid()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_a_change_that_a_listener_takes_back_leaves_the_event_a_version_of_its_own(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")

        @sa.event.listens_for(session, "before_flush")
        def take_back(*_: object) -> None:
            order.paid = False

        order.pay()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_an_expired_aggregate_with_an_event_gets_a_new_version(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        session.expire_all()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_refreshing_an_aggregate_keeps_its_events(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.say_paid()
        session.refresh(order)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]


def test_a_version_that_must_be_loaded_first_is_raised_once(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.lines.append(Line(id="o1-2"))
        session.expire(order, ["version"])
        order.say_paid()

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert shop.orders() == {"o1": (False, 2)}


def test_a_flush_that_left_the_root_alone_is_not_taken_for_a_write(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.lines.append(Line(id="o1-2"))
        session.flush()
        order.say_paid()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_an_aggregate_that_changed_anyway_is_written_once(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.flush()
        order.say_paid()

    assert shop.orders() == {"o1": (True, 2)}
    assert shop.places()[1:] == [("order.paid", "o1", 2, 0), ("order.paid", "o1", 2, 1)]


def test_an_event_raised_while_a_deferred_one_is_built_is_stored_with_it(shop: Shop) -> None:
    shop.place("o1", "o2")
    with shop.sessions.begin() as session:
        first, second = session.get_one(Order, "o1"), session.get_one(Order, "o2")

        def build() -> OrderPaid:
            first.say_paid(1)
            second.pay(2)
            return OrderPaid(aggregate_id="o1", amount=0)

        first.collect_event_later(build)

    assert shop.places()[2:] == [
        ("order.paid", "o1", 2, 0),
        ("order.paid", "o1", 2, 1),
        ("order.paid", "o2", 2, 0),
    ]
    assert shop.orders() == {"o1": (False, 2), "o2": (True, 2)}


def test_events_that_raise_events_without_end_are_refused(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")

        def build() -> OrderPaid:
            order.collect_event_later(build)
            return OrderPaid(aggregate_id="o1")

        order.collect_event_later(build)
        with pytest.raises(UnitOfWorkError, match="still raise events"):
            session.commit()

    assert shop.rows() == ["order.placed"]


def test_an_unreferenced_aggregate_keeps_its_event(any_shop: Shop) -> None:
    any_shop.place("o1", "o2")
    with any_shop.sessions.begin() as session:
        session.get_one(Order, "o1").say_paid()
        session.get_one(Order, "o2").pay()
        gc.collect()
        session.execute(sa.select(Order).where(order_table.c.id == "nobody"))
        gc.collect()

    assert any_shop.places()[2:] == [("order.paid", "o1", 2, 0), ("order.paid", "o2", 2, 0)]


def test_an_aggregate_that_raised_events_before_it_was_added_is_kept(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Order.place("o1"))
        session.flush()
        gc.collect()

    assert shop.places() == [("order.placed", "o1", 1, 0)]


def test_an_event_raised_between_two_transactions_belongs_to_the_next(shop: Shop) -> None:
    sessions = shop.attached(sessionmaker(shop.engine, expire_on_commit=False))
    with sessions() as session:
        order = Order.place("o1")
        session.add(order)
        session.commit()
        order.say_paid()
        session.commit()
        order.say_paid()
        session.rollback()
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]


def test_a_session_that_begins_by_hand_stores_what_was_raised_before(shop: Shop) -> None:
    sessions = shop.attached(sessionmaker(shop.engine, autobegin=False, expire_on_commit=False))
    with sessions() as session:
        with session.begin():
            order = Order.place("o1")
            session.add(order)
        order.say_paid()
        with session.begin():
            pass

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]


def test_an_aggregate_may_move_to_another_session_with_its_events(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as first:
        order = first.get_one(Order, "o1")
        order.pay()
        first.expunge(order)
        first.commit()
    with shop.sessions.begin() as second:
        second.add(order)

    assert shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert shop.orders() == {"o1": (True, 2)}


def test_sessions_of_another_sessionmaker_are_left_alone(shop: Shop) -> None:
    order = Order.place("o1")
    with sessionmaker(shop.engine).begin() as session:
        session.add(order)

    assert shop.rows() == []
    assert len(order.triggered_events) == 1


def test_listeners_of_a_sessionmaker_hear_its_sessions_after_the_outbox_is_attached(
    shop: Shop,
) -> None:
    heard = []
    sessions = sessionmaker(shop.engine)
    sa.event.listen(sessions, "before_commit", lambda _: heard.append("before"))
    shop.new_outbox().attach(sessions)
    sa.event.listen(sessions, "after_commit", lambda _: heard.append("after"))
    with sessions.begin() as session:
        session.add(Order.place("o1"))

    assert heard == ["before", "after"]
    assert shop.rows() == ["order.placed"]


def test_an_event_raised_by_a_listener_before_the_outbox_is_stored(shop: Shop) -> None:
    order = Order(id="o1", lines=[])
    sessions = sessionmaker(shop.engine)
    sa.event.listen(sessions, "before_commit", lambda _: order.pay())
    shop.new_outbox().attach(sessions)
    with sessions.begin() as session:
        session.add(order)

    assert shop.rows() == ["order.paid"]


def test_an_event_raised_by_a_listener_after_the_outbox_is_refused(shop: Shop) -> None:
    order = Order.place("o1")
    sessions = shop.attached(sessionmaker(shop.engine))
    sa.event.listen(sessions, "before_commit", lambda _: order.pay())
    with sessions() as session:
        session.add(order)
        with pytest.raises(UnitOfWorkError, match="before the outbox is attached"):
            session.commit()

    assert shop.rows() == []
    assert shop.orders() == {}


def test_a_second_outbox_is_refused(shop: Shop) -> None:
    with pytest.raises(UnitOfWorkError, match="already"):
        shop.new_outbox().attach(shop.sessions)


def test_an_outbox_is_attached_to_a_sessionmaker_and_to_nothing_else(shop: Shop) -> None:
    with pytest.raises(TypeError, match="attach the outbox to a sessionmaker"):
        shop.outbox.attach(shop.engine)  # type: ignore[arg-type]  # wrong on purpose
