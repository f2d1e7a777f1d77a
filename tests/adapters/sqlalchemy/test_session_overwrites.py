"""Queries that overwrite changes which were not flushed take their events along."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Order
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def select_anew(session: Session) -> None:
    session.scalars(sa.select(Order).execution_options(populate_existing=True)).all()


def lock_anew(session: Session) -> None:
    locked = sa.select(Order).with_for_update().execution_options(populate_existing=True)
    session.scalars(locked).all()


def get_anew(session: Session) -> None:
    for order_id in ("o1", "o2"):
        session.get_one(Order, order_id, populate_existing=True)


OVERWRITES = [select_anew, lock_anew, get_anew]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_a_change_that_a_query_overwrites_takes_its_event_with_it(
    any_shop: Shop, overwrite: Callable[[Session], None]
) -> None:
    any_shop.place("o1", "o2")
    with any_shop.sessions(autoflush=False) as session:
        one, two = session.get_one(Order, "o1"), session.get_one(Order, "o2")
        one.pay(1)
        session.flush()
        one.paid = False
        one.say_paid(2)
        two.pay()
        overwrite(session)
        session.commit()

    assert any_shop.places()[2:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2), "o2": (False, 1)}


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_a_change_that_is_flushed_first_keeps_its_event(
    shop: Shop, overwrite: Callable[[Session], None]
) -> None:
    shop.place("o1", "o2")
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        overwrite(session)
        session.commit()

    assert shop.places()[2:] == [("order.paid", "o1", 2, 0)]
    assert shop.orders() == {"o1": (True, 2), "o2": (False, 1)}


def test_what_a_query_leaves_as_it_is_keeps_its_event(shop: Shop) -> None:
    shop.place("o1", "o2", "o3")
    with shop.sessions(autoflush=False) as session:
        one, two = session.get_one(Order, "o1"), session.get_one(Order, "o2")
        three = session.get_one(Order, "o3")
        one.change_quantity(7)  # a child of it, which the query does not load
        two.say_paid()
        select_anew(session)
        three.pay()
        session.expire(three, ["updates"])
        session.scalars(sa.select(Order)).all()  # loads what is missing, and no more
        session.commit()

    assert [place[1] for place in shop.places()[3:]] == ["o1", "o2", "o3"]
    assert shop.orders()["o3"] == (True, 2)
