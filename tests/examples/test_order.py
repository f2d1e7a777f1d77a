"""The order of the layered example, by itself: its rules, its operations and its events."""

from collections.abc import Callable

import attrs
import pytest

from examples.order_service.domain import (
    EVENTS,
    CurrencyMismatchError,
    Money,
    Order,
    OrderedItem,
    OrderOperations,
    OrderRules,
)
from examples.order_service.domain.order_rules import LINE_RULES, MOST_PIECES, RULES_OF
from pragmatic_ddd import DomainEvent
from pragmatic_ddd.domain import MessageCode
from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError

TEACUP = OrderedItem(sku="teacup", quantity=2, unit_price=Money.of("12.50 EUR"))
SAUCER = OrderedItem(sku="saucer", quantity=1, unit_price=Money.of("4.00 EUR"))
DOLLAR_SAUCER = attrs.evolve(SAUCER, unit_price=Money.of("4.50 USD"))


def an_order() -> Order:
    return Order.place("order-1", "ann", [TEACUP])


def told(order: Order) -> list[tuple[str, str | None]]:
    """Return what the events say, and what they say has caused them."""
    return [
        (
            event.event_type.removeprefix("shop.order."),
            event.operation_code and event.operation_code.removeprefix("shop.order."),
        )
        for event in order.triggered_events.snapshot()
    ]


def test_an_order_says_what_happens_to_it_and_why() -> None:
    order = an_order()
    order.add_line(SAUCER)
    order.pay("4711")
    order.ship("1Z")

    assert told(order) == [
        ("placed", "place"),
        ("line-added", "add-line"),
        ("paid", "pay"),
        ("shipped", "ship"),
    ]
    assert str(order.total) == "29.00 EUR"


def test_a_cancelled_order_says_who_wanted_it() -> None:
    by_customer, with_account = an_order(), an_order()
    by_customer.cancel("no more")
    with_account.cancel_with_account()

    assert told(by_customer)[-1] == ("cancelled", "cancel")
    assert told(with_account)[-1] == ("cancelled", "close-account")


DOES: dict[str, Callable[[Order], None]] = {
    "pay": lambda order: order.pay("4711"),
    "ship": lambda order: order.ship("1Z"),
    "cancel": lambda order: order.cancel("no more"),
    "close": lambda order: order.cancel_with_account(),
    "add": lambda order: order.add_line(SAUCER),
}


@pytest.mark.parametrize(
    ("before", "asked", "message"),
    [
        ("pay", ["pay", "add"], OrderRules.ALREADY_PAID),
        ("", ["ship"], OrderRules.NOT_PAID),
        ("pay ship", list(DOES), OrderRules.ALREADY_SHIPPED),
        ("cancel", list(DOES), OrderRules.ALREADY_CANCELLED),
        ("close", list(DOES), OrderRules.ALREADY_CANCELLED),
    ],
)
def test_what_an_order_refuses_leaves_it_as_it_was(
    before: str, asked: list[str], message: MessageCode
) -> None:
    order = an_order()
    for step in before.split():
        DOES[step](order)
    was = order.status, list(order.lines), told(order), list(order.triggered_operations)

    for step in asked:
        with pytest.raises(BrokenRuleError) as refused:
            DOES[step](order)
        assert refused.value.code == message.code

    assert (order.status, order.lines, told(order), list(order.triggered_operations)) == was


def test_an_order_has_at_least_one_line() -> None:
    with pytest.raises(BrokenRuleAggregateError, match="no-lines"):
        Order.place("order-1", "ann", [])


def test_all_that_is_wrong_with_the_lines_is_told_at_once() -> None:
    too_many = attrs.evolve(TEACUP, quantity=MOST_PIECES)

    with pytest.raises(BrokenRuleAggregateError) as refused:
        Order.place("order-1", "ann", [too_many, DOLLAR_SAUCER])

    assert [(error.code, error.parameters) for error in refused.value] == [
        ("shop.order.too-many-pieces", {"limit": MOST_PIECES, "pieces": MOST_PIECES + 1}),
        ("shop.order.mixed-currencies", {"currencies": "EUR and USD"}),
    ]


def test_a_line_that_does_not_fit_is_not_added() -> None:
    order = an_order()

    with pytest.raises(BrokenRuleAggregateError, match="mixed-currencies"):
        order.add_line(DOLLAR_SAUCER)

    assert [line.as_item() for line in order.lines] == [TEACUP]
    assert told(order) == [("placed", "place")]


def test_every_message_has_its_rule_and_every_operation_asks_its_own() -> None:
    of_operations = {item.message for rules in RULES_OF.values() for item in rules}
    asked = of_operations | {item.message for item in LINE_RULES}

    assert asked == set(OrderRules.messages())
    assert {OrderOperations.PLACE, *RULES_OF} == set(OrderOperations.operations())


def test_no_event_is_forgotten_in_the_registry() -> None:
    raised = {
        event_type
        for event_type in DomainEvent.__subclasses__()
        if event_type.__module__.startswith("examples.order_service.")
    }

    assert raised == set(EVENTS)


def test_money_has_no_fraction_of_a_cent_and_one_currency() -> None:
    with pytest.raises(ValueError, match="whole number of cents"):
        Money.of("0.005 EUR")
    with pytest.raises(CurrencyMismatchError, match="cannot add USD to EUR"):
        Money.of("1 EUR") + Money.of("1 USD")
