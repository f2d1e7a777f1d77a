"""What the shop says, as this service reads it: the fields that it needs, under the same names.

The classes are not shared with the shop: two services agree on names and JSON, not on code.
"""

from pragmatic_ddd import DomainEvent


class OrderPaid(DomainEvent, name="shop.order.paid"):
    payment_reference: str


class OrderCancelled(DomainEvent, name="shop.order.cancelled"):
    reason: str


EVENTS = (OrderPaid, OrderCancelled)
