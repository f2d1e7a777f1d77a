"""What the outside may ask for: commands, what carries them out, and a list to read."""

from examples.order_service.application.commands import (
    AddLine,
    CancelOrder,
    CloseAccount,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.application.order_list import IOrderList, OrderSummary
from examples.order_service.application.order_service import OrderService
from examples.order_service.application.units_of_work import IUnitsOfWork

__all__ = [
    "AddLine",
    "CancelOrder",
    "CloseAccount",
    "IOrderList",
    "IUnitsOfWork",
    "OrderService",
    "OrderSummary",
    "PayOrder",
    "PlaceOrder",
    "ShipOrder",
]
