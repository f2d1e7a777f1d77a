"""What somebody wants done, in the imperative. Checked by the domain, not here."""

import attrs

from examples.order_service.domain import OrderedItem


@attrs.frozen(kw_only=True)
class PlaceOrder:
    customer_id: str
    items: tuple[OrderedItem, ...]


@attrs.frozen(kw_only=True)
class AddLine:
    order_id: str
    item: OrderedItem


@attrs.frozen(kw_only=True)
class PayOrder:
    order_id: str
    payment_reference: str


@attrs.frozen(kw_only=True)
class ShipOrder:
    order_id: str
    tracking_code: str


@attrs.frozen(kw_only=True)
class CancelOrder:
    order_id: str
    reason: str


@attrs.frozen(kw_only=True)
class CloseAccount:
    customer_id: str
