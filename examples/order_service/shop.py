"""The application process: customers place and pay orders. `python -m examples.order_service.shop`.

A web framework would stand where this loop stands: it resolves the service and calls a method.
"""

import datetime as dt
import logging

from examples.order_service.application import (
    AddLine,
    CancelOrder,
    OrderService,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.composition_root import compose, create_schema, running
from examples.order_service.domain import Money, OrderedItem
from examples.order_service.settings import Settings
from pragmatic_ddd import DomainError
from pragmatic_ddd.application.outbox import EagerOutboxPublisher
from pragmatic_ddd.ports import IOutboxStore

TEACUP = OrderedItem(sku="teacup", quantity=2, unit_price=Money.of("12.50 EUR"))
SAUCER = OrderedItem(sku="saucer", quantity=2, unit_price=Money.of("4.00 EUR"))


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    container = compose(Settings.from_environment())
    create_schema(container)
    orders: OrderService = container.resolve(OrderService)
    eager: EagerOutboxPublisher = container.resolve(EagerOutboxPublisher)
    store: IOutboxStore = container.resolve(IOutboxStore)
    with running(container, with_relay=True):
        trade(orders)
        eager.wait_until_idle(dt.timedelta(seconds=10))
        print("not yet sent:", store.backlog().pending)


def trade(orders: OrderService) -> None:
    shipped = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    orders.add_line(AddLine(order_id=shipped, item=SAUCER))
    orders.pay(PayOrder(order_id=shipped, payment_reference="4711"))
    orders.ship(ShipOrder(order_id=shipped, tracking_code="1Z-4711"))
    cancelled = orders.place(PlaceOrder(customer_id="bob", items=(SAUCER,)))
    orders.pay(PayOrder(order_id=cancelled, payment_reference="4712"))
    orders.cancel(CancelOrder(order_id=cancelled, reason="changed his mind"))
    try:
        orders.ship(ShipOrder(order_id=cancelled, tracking_code="1Z-4712"))
    except DomainError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
