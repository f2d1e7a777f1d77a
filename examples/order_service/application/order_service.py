"""The application service: one transaction per command, and not a word about events.

The aggregate raises them; that they are stored, sent and sent in order is the outbox's business.
"""

import attrs

from examples.order_service.application.commands import (
    AddLine,
    CancelOrder,
    CloseAccount,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.application.units_of_work import IUnitsOfWork
from examples.order_service.domain import Order
from pragmatic_ddd.application.application_service import ApplicationService
from pragmatic_ddd.domain import uuid7_text
from pragmatic_ddd.ports import DryRunResult


@attrs.frozen
class OrderService(ApplicationService):
    """Places, pays, ships and cancels orders.

    Raises:
        DomainError: A rule of the order forbids it; nothing was changed.
        AggregateNotFoundError: There is no such order.
        ConcurrencyError: Somebody else changed the order first; nothing was changed, try again.
    """

    units_of_work: IUnitsOfWork

    def place(self, command: PlaceOrder) -> str:
        """Return the id of the new order."""
        return self._create(lambda: _new_order(command)).id

    def try_place(self, command: PlaceOrder) -> DryRunResult:
        """Say which rules would refuse it: for a form that is still being filled in."""
        return self._try_create(lambda: _new_order(command))

    def add_line(self, command: AddLine) -> None:
        self._change(Order, command.order_id, lambda order: order.add_line(command.item))

    def pay(self, command: PayOrder) -> None:
        self._change(Order, command.order_id, lambda order: order.pay(command.payment_reference))

    def ship(self, command: ShipOrder) -> None:
        self._change(Order, command.order_id, lambda order: order.ship(command.tracking_code))

    def cancel(self, command: CancelOrder) -> None:
        self._change(Order, command.order_id, lambda order: order.cancel(command.reason))

    def close_account(self, command: CloseAccount) -> int:
        """Cancel what has not left the house, all of it or nothing; return how many orders."""
        with self.units_of_work() as work:
            orders = work.orders.open_of(command.customer_id)
            for order in orders:
                order.cancel_with_account()
                work.orders.save(order)
            work.commit()
        return len(orders)


def _new_order(command: PlaceOrder) -> Order:
    return Order.place(uuid7_text(), command.customer_id, command.items)
