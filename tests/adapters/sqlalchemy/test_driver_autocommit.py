"""A driver that commits each statement by itself, which SQLAlchemy does not know of."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import ConfigurationError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy.transactions import SqlAlchemyTransactionOperations
from tests.adapters.sqlalchemy.models import Happened, Order, order_table
from tests.adapters.sqlalchemy.shop import Shop, shop_on

SERVERS = [
    pytest.param(name, marks=pytest.mark.service(name)) for name in ("postgresql", "mariadb")
]


@contextmanager
def engine_of_such_a_driver(shop: Shop) -> Iterator[sa.Engine]:
    engine = sa.create_engine(shop.engine.url, connect_args={"autocommit": True})
    try:
        yield engine
    finally:
        engine.dispose()


@pytest.mark.parametrize("service", SERVERS)
def test_a_session_is_refused_before_it_writes(service: str) -> None:
    with shop_on(service) as shop, engine_of_such_a_driver(shop) as engine:
        with shop.sessions(bind=engine) as session:
            session.add(Order.place("o1"))
            with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
                session.flush()

        assert shop.rows() == []
        assert shop.orders() == {}


@pytest.mark.parametrize("service", SERVERS)
def test_a_recorder_on_a_connection_is_refused(service: str) -> None:
    with shop_on(service) as shop, engine_of_such_a_driver(shop) as engine:
        with engine.connect() as connection:
            recorder = shop.outbox.recorder(connection)
            with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
                recorder.record("test.job", "j1", Happened(aggregate_id="j1"))

        assert shop.rows() == []


@pytest.mark.parametrize("service", SERVERS)
def test_local_transactions_are_refused(service: str) -> None:
    with shop_on(service) as shop, engine_of_such_a_driver(shop) as engine:
        operations = SqlAlchemyTransactionOperations(engine)
        insert = sa.insert(order_table).values(id="o1", paid=False, version=1)
        with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
            operations.execute(lambda: operations.connection.execute(insert))

        assert shop.orders() == {}


@pytest.mark.parametrize("service", SERVERS)
def test_the_outbox_s_own_transactions_are_refused(service: str) -> None:
    with shop_on(service) as shop, engine_of_such_a_driver(shop) as engine:
        shop.place("o1")
        store = Shop(engine).outbox.store
        with pytest.raises(ConfigurationError, match="AUTOCOMMIT"):
            store.claim_pending(batch_size=1, lease=dt.timedelta(seconds=10))

        assert shop.outbox.store.backlog().pending == 1


@pytest.mark.parametrize("service", SERVERS)
def test_a_session_may_read(service: str) -> None:
    with shop_on(service) as shop, engine_of_such_a_driver(shop) as engine:
        shop.place("o1")
        with shop.sessions(bind=engine) as session:
            assert session.get_one(Order, "o1").paid is False
