"""Where orders are kept, as the domain asks for them."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from examples.order_service.domain.order import Order
from pragmatic_ddd.ports import IRepository


class IOrderRepository(IRepository[Order], Protocol):
    """Orders, with what the domain wants to know of many of them."""

    @abstractmethod
    def open_of(self, customer_id: str) -> Sequence[Order]:
        """Return the orders of a customer that are neither shipped nor cancelled, oldest first."""
