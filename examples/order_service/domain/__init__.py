"""What an order is and what it allows. Knows no database, no broker, only the core."""

from examples.order_service.domain.money import CurrencyMismatchError, Money
from examples.order_service.domain.order import Order
from examples.order_service.domain.order_events import (
    OrderCancelled,
    OrderedItem,
    OrderLineAdded,
    OrderPaid,
    OrderPlaced,
    OrderShipped,
)
from examples.order_service.domain.order_line import OrderLine
from examples.order_service.domain.order_operations import OrderOperations
from examples.order_service.domain.order_repository import IOrderRepository
from examples.order_service.domain.order_rules import OrderRules
from examples.order_service.domain.order_status import OrderStatus

EVENTS = (OrderPlaced, OrderLineAdded, OrderPaid, OrderShipped, OrderCancelled)

__all__ = [
    "EVENTS",
    "CurrencyMismatchError",
    "IOrderRepository",
    "Money",
    "Order",
    "OrderCancelled",
    "OrderLine",
    "OrderLineAdded",
    "OrderOperations",
    "OrderPaid",
    "OrderPlaced",
    "OrderRules",
    "OrderShipped",
    "OrderStatus",
    "OrderedItem",
]
