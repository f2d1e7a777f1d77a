"""The read model of the contracts, in a table on each database."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.testing.projection_materializer import ListedOrder
from pragmatic_ddd_sqlalchemy import SqlAlchemyProjectionMaterializer
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine

_metadata = sa.MetaData()
listed_order = sa.Table(
    f"v{secrets.token_hex(4)}_listed",
    _metadata,
    sa.Column("order_id", sa.String(40), primary_key=True),
    sa.Column("text", sa.String(40), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)


class ListedOrdersOnSqlAlchemy:
    """Fixtures for a contract, which is run on each database."""

    @pytest.fixture(
        params=[
            "sqlite",
            pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
            pytest.param("mariadb READ COMMITTED", marks=pytest.mark.service("mariadb")),
            pytest.param("mariadb REPEATABLE READ", marks=pytest.mark.service("mariadb")),
        ]
    )
    def connection(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Connection]:
        name, _, level = request.param.partition(" ")
        if name == "sqlite":
            engine = sqlite_engine(tmp_path)
        elif name == "postgresql":
            engine = postgresql_engine("READ COMMITTED")
        else:
            engine = mariadb_engine(level)
        _metadata.create_all(engine)
        with engine.connect() as connection:
            yield connection
            connection.rollback()
        _metadata.drop_all(engine)
        engine.dispose()

    @pytest.fixture
    def listed_orders(
        self, connection: sa.Connection
    ) -> SqlAlchemyProjectionMaterializer[ListedOrder]:
        return SqlAlchemyProjectionMaterializer(ListedOrder, listed_order, connection)
