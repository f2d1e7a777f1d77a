"""Orders in a SQLAlchemy session. What every repository does, the adapter's base does."""

from collections.abc import Sequence

import sqlalchemy as sa

from examples.order_service.domain import Order, OrderStatus
from examples.order_service.infrastructure.tables import shop_order
from pragmatic_ddd_sqlalchemy import Repository


class SqlAlchemyOrderRepository(Repository[Order]):
    def open_of(self, customer_id: str) -> Sequence[Order]:
        column = shop_order.c
        is_open = column.status.in_([OrderStatus.PLACED, OrderStatus.PAID])
        orders = sa.select(Order).where(column.customer_id == customer_id, is_open)
        # Ids are UUIDv7, which sort by the time at which they were made.
        return self.session.scalars(orders.order_by(column.id)).all()
