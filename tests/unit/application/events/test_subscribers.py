import functools
from typing import Any

import pytest

from pragmatic_ddd.application.events import SubscriberRegistry
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import SubscriptionError
from pragmatic_ddd.ports import Delivery


class OrderEvent(DomainEvent):
    pass


class OrderPaid(OrderEvent, name="shop.order.paid"):
    pass


class OrderShipped(OrderEvent, name="shop.order.shipped"):
    pass


def ignore(_: DomainEvent) -> None: ...


async def await_it(_: DomainEvent) -> None: ...


class Asynchronous:
    async def __call__(self, _: DomainEvent) -> None: ...


def test_subscribers_are_listed_by_event_in_order() -> None:
    registry = SubscriberRegistry()
    registry.register_subscriber("b", OrderPaid, ignore, delivery=Delivery.DELAYED)
    registry.register_subscriber("a", OrderPaid, ignore, depends_on=["b"])
    registry.register_subscriber("a", OrderShipped, ignore)

    listed = {name: [one.code for one in found] for name, found in registry.subscribers().items()}
    assert listed == {"shop.order.paid": ["b", "a"], "shop.order.shipped": ["a"]}
    assert registry.dependencies() == {"shop.order.paid": (("b", "a"),), "shop.order.shipped": ()}
    assert registry.one("shop.order.paid", "b").delivery is Delivery.DELAYED
    assert registry.followers("shop.order.paid", "b") == {"a"}


def test_an_event_without_subscribers_has_none() -> None:
    registry = SubscriberRegistry()

    assert registry.of("shop.order.paid") == {}
    with pytest.raises(SubscriptionError, match="no subscriber 'a'"):
        registry.one("shop.order.paid", "a")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("", OrderPaid, ignore), "code"),
        ((5, OrderPaid, ignore), "code"),
        (("a\n", OrderPaid, ignore), "code"),
        (("a", OrderEvent, ignore), "no name"),
        (("a", str, ignore), "no class of events"),
        (("a", "shop.order.paid", ignore), "no class of events"),
        (("a", OrderPaid, None), "plain function"),
        (("a", OrderPaid, await_it), "await"),
        (("a", OrderPaid, functools.partial(await_it)), "await"),
        (("a", OrderPaid, Asynchronous()), "await"),
    ],
)
def test_what_could_never_be_called_is_refused(
    arguments: tuple[Any, Any, Any], reason: str
) -> None:
    registry = SubscriberRegistry()

    with pytest.raises(SubscriptionError, match=reason):
        registry.register_subscriber(*arguments)

    assert registry.subscribers() == {}


def test_depends_on_is_not_a_single_text() -> None:
    with pytest.raises(SubscriptionError, match="sequence"):
        SubscriberRegistry().register_subscriber("a", OrderPaid, ignore, depends_on="bc")


def test_a_refused_subscriber_leaves_nothing_behind() -> None:
    registry = SubscriberRegistry()

    with pytest.raises(SubscriptionError):
        registry.register_subscriber("a", OrderPaid, ignore, depends_on=["a"])

    assert registry.subscribers() == {}
    assert registry.dependencies() == {}


def test_a_closed_registry_takes_nobody() -> None:
    registry = SubscriberRegistry()
    registry.close()

    with pytest.raises(SubscriptionError, match="started"):
        registry.register_subscriber("a", OrderPaid, ignore)


def test_a_missing_predecessor_keeps_the_registry_open() -> None:
    registry = SubscriberRegistry()
    registry.register_subscriber("b", OrderPaid, ignore, depends_on=["a"])

    with pytest.raises(SubscriptionError, match=r"'b' of shop\.order\.paid waits for 'a'"):
        registry.close()

    registry.register_subscriber("a", OrderPaid, ignore)
    registry.close()
