"""The application process: customers place and pay orders. `python -m examples.order_service.shop`.

A web framework would stand where this loop stands: it resolves the service and calls a method.
"""

import datetime as dt
import logging

import attrs

from examples.order_service.application import (
    AddLine,
    CancelOrder,
    CloseAccount,
    IOrderList,
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
from pragmatic_ddd.ports import IOutboxStore, PageRequest

TEACUP = OrderedItem(sku="teacup", quantity=2, unit_price=Money.of("12.50 EUR"))
SAUCER = OrderedItem(sku="saucer", quantity=2, unit_price=Money.of("4.00 EUR"))
DOLLAR_SAUCER = attrs.evolve(SAUCER, unit_price=Money.of("4.50 USD"))


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    container = compose(Settings.from_environment())
    create_schema(container)
    orders: OrderService = container.resolve(OrderService)
    order_list: IOrderList = container.resolve(IOrderList)
    eager: EagerOutboxPublisher = container.resolve(EagerOutboxPublisher)
    store: IOutboxStore = container.resolve(IOutboxStore)
    with running(container, with_relay=True):
        trade(orders)
        eager.wait_until_idle(dt.timedelta(seconds=10))
        print("not yet sent:", store.backlog().pending)
        for order in order_list.page("bob", PageRequest(size=2)).rows:
            print("bob's order:", order.status, order.total)


def trade(orders: OrderService) -> None:
    shipped = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    orders.add_line(AddLine(order_id=shipped, item=SAUCER))
    orders.pay(PayOrder(order_id=shipped, payment_reference="4711"))
    orders.ship(ShipOrder(order_id=shipped, tracking_code="1Z-4711"))
    try:
        orders.cancel(CancelOrder(order_id=shipped, reason="changed her mind"))
    except DomainError as error:
        print("refused:", error)
    a_crate = attrs.evolve(TEACUP, quantity=144)
    tried = orders.try_place(PlaceOrder(customer_id="bob", items=(a_crate, DOLLAR_SAUCER)))
    for rule in tried.broken_rules:
        print("would be refused:", rule)
    orders.place(PlaceOrder(customer_id="bob", items=(TEACUP,)))
    paid = orders.place(PlaceOrder(customer_id="bob", items=(SAUCER,)))
    orders.pay(PayOrder(order_id=paid, payment_reference="4712"))
    orders.close_account(CloseAccount(customer_id="bob"))


if __name__ == "__main__":
    main()
