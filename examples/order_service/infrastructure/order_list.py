"""The list of orders, in a table of its own."""

import attrs
import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.application.order_list import OrderSummary, summary_of
from examples.order_service.domain import Order
from examples.order_service.infrastructure.order_repository import SqlAlchemyOrderRepository
from examples.order_service.infrastructure.tables import order_list
from pragmatic_ddd.ports import PageRequest, PageResult
from pragmatic_ddd_sqlalchemy import Keyset, OrderedQuery, SqlAlchemyProjectionMaterializer

_NEWEST_FIRST = OrderedQuery(
    sa.select(*(order_list.c[field] for field in attrs.fields_dict(OrderSummary))),
    Keyset([order_list.c.order_id.desc()]),
    lambda row: OrderSummary(**row._asdict()),
)


@attrs.frozen
class SqlAlchemyOrderList:
    engine: sa.Engine

    def page(self, criteria: str, request: PageRequest) -> PageResult[OrderSummary]:
        is_theirs = order_list.c.customer_id == criteria
        with orm.Session(self.engine) as session:
            return _NEWEST_FIRST.page(session, request, where=is_theirs)

    def resynchronize(self, aggregate_id: object) -> None:
        """Write the row from the order itself, so that what comes twice or late does no harm."""
        with orm.Session(self.engine) as session, session.begin():
            rows = SqlAlchemyProjectionMaterializer(OrderSummary, order_list, session)
            seen = rows.version_of(aggregate_id)
            # Asked after the row: a row that is ahead of it has not just been written.
            order = SqlAlchemyOrderRepository(Order, session).find_by_id(aggregate_id)
            if order is None or (seen is not None and seen > order.version):
                rows.remove(aggregate_id)
            if order is not None:
                rows.materialize(summary_of(order), version=order.version)
