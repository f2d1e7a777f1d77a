"""The read model: a customer's orders, as somebody leafs through them.

Kept apart from the aggregates, by a subscriber, so a moment behind them: nothing that decides
reads it.
"""

from typing import Protocol

import attrs

from examples.order_service.domain import EVENTS, Money, Order, OrderStatus
from pragmatic_ddd import DomainEvent
from pragmatic_ddd.ports import IPageQuery, IReadModelResynchronizer, ISubscriberRegistry


@attrs.frozen(kw_only=True)
class OrderSummary:
    order_id: str
    customer_id: str
    status: OrderStatus
    total: Money


class IOrderList(IPageQuery[str, OrderSummary], IReadModelResynchronizer, Protocol):
    """The orders of the customer with that id, newest first."""


def summary_of(order: Order) -> OrderSummary:
    """The projection: from the aggregate to its row in the list."""
    return OrderSummary(
        order_id=order.id,
        customer_id=order.customer_id,
        status=order.status,
        total=order.total,
    )


@attrs.frozen
class OrderListUpdater:
    """Writes a row anew whenever something has happened to its order, whatever it was."""

    order_list: IOrderList

    def subscribe_to(self, events: ISubscriberRegistry) -> None:
        for event_type in EVENTS:
            events.register_subscriber("order-list", event_type, self.follow)

    def follow(self, event: DomainEvent) -> None:
        self.order_list.resynchronize(event.aggregate_id)
