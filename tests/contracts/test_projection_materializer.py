"""Every materializer does what the contract says."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import IProjectionMaterializer
from pragmatic_ddd.testing.projection_materializer import (
    ListedOrder,
    ProjectionMaterializerContract,
)
from tests.contracts.listed_orders import ListedOrdersOnSqlAlchemy, listed_order


class TestSqlAlchemy(ListedOrdersOnSqlAlchemy, ProjectionMaterializerContract):
    @pytest.fixture
    def materializer(
        self, listed_orders: IProjectionMaterializer[ListedOrder]
    ) -> IProjectionMaterializer[ListedOrder]:
        return listed_orders

    @pytest.fixture
    def text_of(self, connection: sa.Connection) -> Callable[[str], str | None]:
        text = sa.select(listed_order.c.text)
        return lambda one: connection.scalar(text.where(listed_order.c.order_id == one))
