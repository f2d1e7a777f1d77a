"""What an order is and what it allows. Knows no database, no broker, only the core."""

from examples.order_service.domain.money import CurrencyMismatchError, Money
from examples.order_service.domain.order import Order, OrderStatus
from examples.order_service.domain.order_errors import (
    OrderAlreadyPaidError,
    OrderCancelledError,
    OrderNotPaidError,
    OrderShippedError,
    OrderWithoutLinesError,
)
from examples.order_service.domain.order_events import (
    OrderCancelled,
    OrderedItem,
    OrderLineAdded,
    OrderPaid,
    OrderPlaced,
    OrderShipped,
)
from examples.order_service.domain.order_line import OrderLine

EVENTS = (OrderPlaced, OrderLineAdded, OrderPaid, OrderShipped, OrderCancelled)

__all__ = [
    "EVENTS",
    "CurrencyMismatchError",
    "Money",
    "Order",
    "OrderAlreadyPaidError",
    "OrderCancelled",
    "OrderCancelledError",
    "OrderLine",
    "OrderLineAdded",
    "OrderNotPaidError",
    "OrderPaid",
    "OrderPlaced",
    "OrderShipped",
    "OrderShippedError",
    "OrderStatus",
    "OrderWithoutLinesError",
    "OrderedItem",
]
