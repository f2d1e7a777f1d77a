"""The application service: one transaction per command, and not a word about events.

The aggregate raises them; that they are stored, sent and sent in order is the outbox's business.
"""

from abc import abstractmethod
from typing import Protocol

import attrs

from examples.order_service.application.commands import (
    AddLine,
    CancelOrder,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.domain import Order
from pragmatic_ddd import IUnitOfWork
from pragmatic_ddd.domain import uuid7_text


class IUnitsOfWork(Protocol):
    """Begins a unit of work for each command."""

    @abstractmethod
    def __call__(self) -> IUnitOfWork: ...


@attrs.frozen
class OrderService:
    """Places, pays, ships and cancels orders.

    Raises:
        DomainError: A rule of the order forbids it; nothing was changed.
        AggregateNotFoundError: There is no such order.
        ConcurrencyError: Somebody else changed the order first; nothing was changed, try again.
    """

    units_of_work: IUnitsOfWork

    def place(self, command: PlaceOrder) -> str:
        """Return the id of the new order."""
        order_id = uuid7_text()
        with self.units_of_work() as work:
            work.add(Order.place(order_id, command.customer_id, command.items))
            work.commit()
        return order_id

    def add_line(self, command: AddLine) -> None:
        with self.units_of_work() as work:
            work.get(Order, command.order_id).add_line(command.item)
            work.commit()

    def pay(self, command: PayOrder) -> None:
        with self.units_of_work() as work:
            work.get(Order, command.order_id).pay(command.payment_reference)
            work.commit()

    def ship(self, command: ShipOrder) -> None:
        with self.units_of_work() as work:
            work.get(Order, command.order_id).ship(command.tracking_code)
            work.commit()

    def cancel(self, command: CancelOrder) -> None:
        with self.units_of_work() as work:
            work.get(Order, command.order_id).cancel(command.reason)
            work.commit()
