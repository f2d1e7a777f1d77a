"""expire() and refresh() give up changes that were not flushed, and their events with them."""

from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Order
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_a_change_that_is_given_up_by_expire_takes_its_event_with_it(any_shop: Shop) -> None:
    any_shop.place("o1", "o2", "o3")
    with any_shop.sessions.begin() as session:
        one, two, three = (session.get_one(Order, id_) for id_ in ("o1", "o2", "o3"))
        one.pay(1)
        session.flush()
        one.paid = False
        one.say_paid(2)
        session.expire(one)
        two.change_quantity(7)
        three.pay()
        session.expire_all()

    assert any_shop.places()[3:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2), "o2": (False, 1), "o3": (False, 1)}


def test_a_change_that_is_given_up_by_refresh_takes_its_event_with_it(any_shop: Shop) -> None:
    any_shop.place("o1", "o2")
    with any_shop.sessions.begin() as session:
        one, two = session.get_one(Order, "o1"), session.get_one(Order, "o2")
        one.pay()
        session.refresh(one)
        two.pay()
        session.refresh(two, ["paid"])

    assert any_shop.rows() == ["order.placed", "order.placed"]
    assert any_shop.orders() == {"o1": (False, 1), "o2": (False, 1)}


def test_an_attribute_expired_beside_a_change_leaves_it_its_event(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        session.expire(order, ["updates"])

    assert shop.rows() == ["order.placed", "order.paid"]
    assert shop.orders() == {"o1": (True, 2)}
