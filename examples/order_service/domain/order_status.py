"""What an order has come to.

PLACED ──pay──▶ PAID ──ship──▶ SHIPPED
   └────cancel────┴────▶ CANCELLED

What stands in the way of a step is in order_rules.py.
"""

import enum


class OrderStatus(enum.StrEnum):
    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"
