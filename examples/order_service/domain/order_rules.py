"""Every rule of an order. A refusal names a code: look for it here, its rule is on the same page.

OrderRules    what is said, by code
LINE_RULES    what holds for the lines of an order; all that are broken are told at once
RULES_OF      what each operation asks of the order before it; the first that is broken is told
"""

from collections.abc import Mapping, Sequence

from examples.order_service.domain.order_line import OrderLine
from examples.order_service.domain.order_operations import OrderOperations
from examples.order_service.domain.order_status import OrderStatus
from pragmatic_ddd.domain import (
    BrokenRuleRegistry,
    EntityOperation,
    EntityRule,
    MessageCode,
    RuleItem,
)

MOST_PIECES = 100


class OrderRules(BrokenRuleRegistry):
    NO_LINES = MessageCode("shop.order.no-lines", "an order has at least one line")
    TOO_MANY_PIECES = MessageCode(
        "shop.order.too-many-pieces", "an order has at most {limit} pieces, not {pieces}"
    )
    MIXED_CURRENCIES = MessageCode(
        "shop.order.mixed-currencies", "an order is in one currency, not in {currencies}"
    )
    ALREADY_PAID = MessageCode("shop.order.already-paid", "what is paid stays as it was paid")
    NOT_PAID = MessageCode("shop.order.not-paid", "only what is paid is shipped")
    ALREADY_SHIPPED = MessageCode(
        "shop.order.already-shipped", "what has left the house cannot be changed"
    )
    ALREADY_CANCELLED = MessageCode(
        "shop.order.already-cancelled", "a cancelled order stays cancelled"
    )


def _pieces(lines: Sequence[OrderLine]) -> int:
    return sum(line.quantity for line in lines)


def _currencies(lines: Sequence[OrderLine]) -> list[str]:
    return sorted({line.unit_price.currency for line in lines})


LINE_RULES = EntityRule[Sequence[OrderLine]](
    RuleItem(OrderRules.NO_LINES, lambda lines: len(lines) > 0),
    RuleItem(
        OrderRules.TOO_MANY_PIECES,
        lambda lines: _pieces(lines) <= MOST_PIECES,
        parameters=lambda lines: {"limit": MOST_PIECES, "pieces": _pieces(lines)},
    ),
    RuleItem(
        OrderRules.MIXED_CURRENCIES,
        lambda lines: len(_currencies(lines)) <= 1,
        parameters=lambda lines: {"currencies": " and ".join(_currencies(lines))},
    ),
)

_NOT_SHIPPED = RuleItem[OrderStatus](
    OrderRules.ALREADY_SHIPPED, lambda status: status is not OrderStatus.SHIPPED
)
_NOT_CANCELLED = RuleItem[OrderStatus](
    OrderRules.ALREADY_CANCELLED, lambda status: status is not OrderStatus.CANCELLED
)
_NOT_PAID = RuleItem[OrderStatus](
    OrderRules.ALREADY_PAID, lambda status: status is not OrderStatus.PAID
)
_PAID = RuleItem[OrderStatus](OrderRules.NOT_PAID, lambda status: status is OrderStatus.PAID)

_OPEN = EntityRule(_NOT_SHIPPED, _NOT_CANCELLED, fail_fast=True)

RULES_OF: Mapping[EntityOperation, EntityRule[OrderStatus]] = {
    OrderOperations.ADD_LINE: _OPEN.add(_NOT_PAID),
    OrderOperations.PAY: _OPEN.add(_NOT_PAID),
    OrderOperations.SHIP: _OPEN.add(_PAID),
    OrderOperations.CANCEL: _OPEN,
    OrderOperations.CLOSE_ACCOUNT: _OPEN,
}
