"""How orders become rows. The domain's classes stay plain: they know nothing of this module."""

import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.domain import Order, OrderLine
from examples.order_service.infrastructure.tables import shop_order, shop_order_line


def map_orders() -> None:
    """Map the classes; what is mapped already stays as it is."""
    if sa.inspect(Order, raiseerr=False) is not None:
        return
    mappers = orm.registry()
    mappers.map_imperatively(
        OrderLine,
        shop_order_line,
        # The foreign key is the order's business: the line's class has no such attribute.
        properties={"_order_id": shop_order_line.c.order_id},
    )
    mappers.map_imperatively(
        Order,
        shop_order,
        version_id_col=shop_order.c.version,
        properties={
            "lines": orm.relationship(
                OrderLine,
                order_by=shop_order_line.c.number,
                cascade="all, delete-orphan",
                lazy="selectin",
            )
        },
    )
