"""Units of work over SQLAlchemy sessions, with the repository of orders in each."""

import attrs
from sqlalchemy import orm

from examples.order_service.domain import Order
from examples.order_service.infrastructure.order_repository import SqlAlchemyOrderRepository
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitOfWork


@attrs.define(eq=False)
class SqlAlchemyOrderUnitOfWork(SqlAlchemyUnitOfWork):
    @property
    def orders(self) -> SqlAlchemyOrderRepository:
        return SqlAlchemyOrderRepository(Order, self.session)


@attrs.frozen
class SqlAlchemyOrderUnitsOfWork:
    sessions: orm.sessionmaker[orm.Session]

    def __call__(self) -> SqlAlchemyOrderUnitOfWork:
        return SqlAlchemyOrderUnitOfWork(self.sessions())
