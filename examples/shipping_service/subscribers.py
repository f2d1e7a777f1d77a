"""What happens here when the shop says something. Each handler is called once for each event.

The inbox has marked the event in the transaction that ``work`` is: what a handler writes and the
mark are committed together, or neither is.
"""

from examples.shipping_service.events import OrderCancelled, OrderPaid
from examples.shipping_service.shipment import Shipment
from pragmatic_ddd.application.inbox import once
from pragmatic_ddd.errors import AggregateNotFoundError
from pragmatic_ddd.ports import IInbox, ISubscriberRegistry
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitOfWork


def subscribe(events: ISubscriberRegistry, inbox: IInbox[SqlAlchemyUnitOfWork]) -> None:
    """Register the handlers."""
    events.register_subscriber("prepare", OrderPaid, once(inbox, "shipping.prepare", prepare))
    events.register_subscriber("stop", OrderCancelled, once(inbox, "shipping.stop", stop))


def prepare(paid: OrderPaid, work: SqlAlchemyUnitOfWork) -> None:
    shipment = Shipment(id=paid.aggregate_id)
    shipment.prepare()
    work.add(shipment)


def stop(cancelled: OrderCancelled, work: SqlAlchemyUnitOfWork) -> None:
    try:
        work.get(Shipment, cancelled.aggregate_id).stop()
    except AggregateNotFoundError:
        return  # cancelled before it was paid: there is nothing to stop
