"""What the outside may ask for: commands, and the service that carries them out."""

from examples.order_service.application.commands import (
    AddLine,
    CancelOrder,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.application.order_service import IUnitsOfWork, OrderService

__all__ = [
    "AddLine",
    "CancelOrder",
    "IUnitsOfWork",
    "OrderService",
    "PayOrder",
    "PlaceOrder",
    "ShipOrder",
]
