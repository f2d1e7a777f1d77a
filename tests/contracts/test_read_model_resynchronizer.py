"""What repairs read models does what the contract says: the order service's list of orders."""

from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.application.order_list import OrderSummary
from examples.order_service.domain import Money, Order, OrderedItem, OrderStatus
from examples.order_service.infrastructure.mapping import map_orders
from examples.order_service.infrastructure.order_list import SqlAlchemyOrderList
from examples.order_service.infrastructure.tables import metadata, order_list
from pragmatic_ddd.ports import IReadModelResynchronizer, IReadModelVersionResolver
from pragmatic_ddd.testing.read_model_resynchronizer import (
    IUnheardAggregates,
    ReadModelResynchronizerContract,
)
from pragmatic_ddd_sqlalchemy import SqlAlchemyProjectionMaterializer, make_sqlite_safe
from tests.databases import EVERY_DATABASE, own_database

_TEACUP = OrderedItem(sku="teacup", quantity=1, unit_price=Money.of("12.50 EUR"))


@attrs.frozen
class StoredOrders:
    """Orders in sessions without an outbox, so that nobody hears of them."""

    engine: sa.Engine

    def save(self, aggregate_id: str) -> int:
        with orm.Session(self.engine) as session:
            order = session.get(Order, aggregate_id)
            if order is None:
                session.add(Order.place(aggregate_id, "ann", [_TEACUP]))
            else:
                order.pay("4711")
            session.commit()
            return session.get_one(Order, aggregate_id).version

    def delete(self, aggregate_id: str) -> None:
        with orm.Session(self.engine) as session:
            session.delete(session.get_one(Order, aggregate_id))
            session.commit()


@attrs.frozen
class ListedOrders:
    """The rows of the list, each in a transaction of its own."""

    engine: sa.Engine

    def version_of(self, aggregate_id: object) -> int | None:
        with self.engine.connect() as connection:
            return self._rows(connection).version_of(aggregate_id)

    def write(self, order_id: str, version: int) -> None:
        summary = OrderSummary(
            order_id=order_id,
            customer_id="ann",
            status=OrderStatus.PLACED,
            total=_TEACUP.unit_price,
        )
        with self.engine.begin() as connection:
            self._rows(connection).materialize(summary, version=version)

    def _rows(self, connection: sa.Connection) -> SqlAlchemyProjectionMaterializer[OrderSummary]:
        return SqlAlchemyProjectionMaterializer(OrderSummary, order_list, connection)


class TestOrderList(ReadModelResynchronizerContract):
    @pytest.fixture(params=EVERY_DATABASE)
    def engine(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
        map_orders()
        with own_database(request.param, tmp_path) as url:
            engine = make_sqlite_safe(sa.create_engine(url))
            metadata.create_all(engine)
            yield engine
            engine.dispose()

    @pytest.fixture
    def resynchronizer(self, engine: sa.Engine) -> IReadModelResynchronizer:
        return SqlAlchemyOrderList(engine)

    @pytest.fixture
    def aggregates(self, engine: sa.Engine) -> IUnheardAggregates:
        return StoredOrders(engine)

    @pytest.fixture
    def views(self, engine: sa.Engine) -> IReadModelVersionResolver:
        return ListedOrders(engine)

    @pytest.fixture
    def write_view(self, engine: sa.Engine) -> Callable[[str, int], object]:
        return ListedOrders(engine).write
