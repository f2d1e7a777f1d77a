"""Every resolver of the versions of views does what the contract says."""

from collections.abc import Callable

import pytest

from pragmatic_ddd.ports import IReadModelVersionResolver
from pragmatic_ddd.testing.projection_materializer import ListedOrder
from pragmatic_ddd.testing.read_model_version_resolver import ReadModelVersionResolverContract
from pragmatic_ddd_sqlalchemy import SqlAlchemyProjectionMaterializer
from tests.contracts.listed_orders import ListedOrdersOnSqlAlchemy

ListedOrders = SqlAlchemyProjectionMaterializer[ListedOrder]


class TestSqlAlchemy(ListedOrdersOnSqlAlchemy, ReadModelVersionResolverContract):
    @pytest.fixture
    def views(self, listed_orders: ListedOrders) -> IReadModelVersionResolver:
        return listed_orders

    @pytest.fixture
    def write_view(self, listed_orders: ListedOrders) -> Callable[[str, int], object]:
        return lambda one, version: listed_orders.materialize(ListedOrder(one, ""), version=version)

    @pytest.fixture
    def remove_view(self, listed_orders: ListedOrders) -> Callable[[str], object]:
        return listed_orders.remove
