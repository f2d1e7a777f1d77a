"""Every materializer does what the contract says."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import IProjectionMaterializer
from pragmatic_ddd.testing.projection_materializer import (
    ListedOrder,
    ProjectionMaterializerContract,
)
from pragmatic_ddd_sqlalchemy import SqlAlchemyProjectionMaterializer
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine

metadata = sa.MetaData()
listed_order = sa.Table(
    f"v{secrets.token_hex(4)}_listed",
    metadata,
    sa.Column("order_id", sa.String(40), primary_key=True),
    sa.Column("text", sa.String(40), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)


class _SqlAlchemyContract(ProjectionMaterializerContract):
    @pytest.fixture
    def connection(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        metadata.create_all(engine)
        with engine.connect() as connection:
            yield connection
            connection.rollback()
        metadata.drop_all(engine)
        engine.dispose()

    @pytest.fixture
    def materializer(self, connection: sa.Connection) -> IProjectionMaterializer[ListedOrder]:
        return SqlAlchemyProjectionMaterializer(ListedOrder, listed_order, connection)

    @pytest.fixture
    def text_of(self, connection: sa.Connection) -> Callable[[str], str | None]:
        text = sa.select(listed_order.c.text)
        return lambda one: connection.scalar(text.where(listed_order.c.order_id == one))


class TestSqlite(_SqlAlchemyContract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return sqlite_engine(tmp_path)


@pytest.mark.service("postgresql")
class TestPostgreSql(_SqlAlchemyContract):
    @pytest.fixture
    def engine(self) -> sa.Engine:
        return postgresql_engine("READ COMMITTED")


@pytest.mark.service("mariadb")
class TestMariaDb(_SqlAlchemyContract):
    @pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
    def engine(self, request: pytest.FixtureRequest) -> sa.Engine:
        return mariadb_engine(request.param)
