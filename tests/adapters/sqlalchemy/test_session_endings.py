"""Endings that a database, a network, a thread or an event loop brings about."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_sqlalchemy.units_of_work import SqlAlchemyUnitsOfWork
from tests.adapters.sqlalchemy.databases import any_shop
from tests.adapters.sqlalchemy.models import PREFIX, Order
from tests.adapters.sqlalchemy.shop import Shop, shop_on

__all__ = ["any_shop"]

_WITHIN_SECONDS = 20.0

_SQL = {
    "postgresql": (
        "SELECT pg_backend_pid()",
        "SELECT pg_terminate_backend({0})",
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {0}",
    ),
    "mysql": (
        "SELECT CONNECTION_ID()",
        "KILL {0}",
        "SELECT count(*) FROM information_schema.processlist WHERE id = {0}",
    ),
}


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ]
)
def server_shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop_on(request.param) as shop:
        yield shop


@attrs.define
class Killer:
    """Ends a connection at the server, at the moment when it is about to commit."""

    engine: sa.Engine

    @contextlib.contextmanager
    def aiming_at(self, victims: sa.Engine) -> Iterator[None]:
        sa.event.listen(victims, "commit", self._kill, once=True)
        yield

    def _kill(self, connection: sa.Connection) -> None:
        own_id, kill, is_alive = _SQL[self.engine.dialect.name]
        victim = connection.exec_driver_sql(own_id).scalar()
        with self.engine.connect() as killing:
            killing.exec_driver_sql(kill.format(victim))
        deadline = time.monotonic() + _WITHIN_SECONDS
        while time.monotonic() < deadline:
            with self.engine.connect() as looking:
                if not looking.exec_driver_sql(is_alive.format(victim)).scalar():
                    return
        pytest.fail("the connection lives on")


@pytest.fixture
def killer(server_shop: Shop) -> Iterator[Killer]:
    engine = sa.create_engine(server_shop.engine.url)
    yield Killer(engine)
    engine.dispose()


def test_a_connection_that_dies_in_the_commit_leaves_neither_change_nor_event(
    server_shop: Shop, killer: Killer
) -> None:
    server_shop.place("o1")
    new = Order.place("o2")
    with server_shop.sessions() as session:
        loaded = session.get_one(Order, "o1")
        loaded.pay()
        session.add(new)
        with killer.aiming_at(server_shop.engine), pytest.raises(DBAPIError):
            session.commit()
        session.rollback()
        assert server_shop.eager.cancelled == server_shop.eager.reserved
        assert len(server_shop.eager.cancelled) == 1
        assert len(loaded.triggered_events) == 0
        assert len(new.triggered_events) == 1
        assert server_shop.rows() == ["order.placed"]
        assert server_shop.orders() == {"o1": (False, 1)}

        session.add(new)
        session.get_one(Order, "o1").pay()
        session.commit()

    assert server_shop.rows()[0] == "order.placed"
    assert sorted(server_shop.places()[1:]) == [
        ("order.paid", "o1", 2, 0),
        ("order.placed", "o2", 1, 0),
    ]
    assert len(server_shop.eager.announced) == 1


def test_a_unit_of_work_run_again_after_its_commit_has_failed_stores_its_events_once(
    server_shop: Shop, killer: Killer
) -> None:
    server_shop.place("o1")
    units_of_work = SqlAlchemyUnitsOfWork(server_shop.sessions)

    def pay() -> None:
        with units_of_work() as work:
            work.get(Order, "o1").pay()
            work.add(Order.place("o2"))
            work.commit()

    with killer.aiming_at(server_shop.engine), pytest.raises(OutboxStoreError):
        pay()
    pay()

    assert sorted(server_shop.places()[1:]) == [
        ("order.paid", "o1", 2, 0),
        ("order.placed", "o2", 1, 0),
    ]


@pytest.mark.service("postgresql")
def test_a_deferred_constraint_that_refuses_the_commit_leaves_neither_change_nor_event() -> None:
    metadata = sa.MetaData()
    reference = sa.Table(
        f"{PREFIX}_deferred",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "to",
            sa.ForeignKey(f"{PREFIX}_deferred.id", deferrable=True, initially="DEFERRED"),
        ),
    )
    with shop_on("postgresql") as shop:
        metadata.create_all(shop.engine)
        shop.place("o1")
        new = Order.place("o2")
        with shop.sessions() as session:
            loaded = session.get_one(Order, "o1")
            loaded.pay()
            session.add(new)
            session.execute(sa.insert(reference).values(id=1, to=2))
            with pytest.raises(IntegrityError):
                session.commit()
            session.rollback()
            assert shop.eager.cancelled == shop.eager.reserved
            assert shop.eager.announced == []
            assert len(loaded.triggered_events) == 0
            session.add(new)
            session.commit()
        metadata.drop_all(shop.engine)

        assert shop.places()[1:] == [("order.placed", "o2", 1, 0)]
        assert shop.orders() == {"o1": (False, 1), "o2": (False, 1)}


def test_a_session_that_is_reset_stores_nothing(any_shop: Shop) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        session.reset()
        session.get_one(Order, "o1").say_paid()
        session.commit()

    assert any_shop.places()[1:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (False, 2)}


def test_a_scoped_session_stores_what_its_thread_commits(any_shop: Shop) -> None:
    any_shop.place("o1", "o2")
    registry = scoped_session(any_shop.sessions)
    registry.get_one(Order, "o1").pay()
    registry.commit()
    registry.get_one(Order, "o2").pay()
    registry.flush()
    registry.remove()
    registry.commit()
    registry.remove()

    assert any_shop.places()[2:] == [("order.paid", "o1", 2, 0)]
    assert any_shop.orders() == {"o1": (True, 2), "o2": (False, 1)}


def test_sessions_of_many_threads_share_nothing(any_shop: Shop) -> None:
    orders = [f"o{n}" for n in range(4)]
    any_shop.place(*orders)
    meet = threading.Barrier(len(orders))
    errors: list[BaseException] = []

    def pay(order_id: str) -> None:
        try:
            meet.wait(_WITHIN_SECONDS)
            for n in range(5):
                with any_shop.sessions() as session:
                    session.get_one(Order, order_id).say_paid(n)
                    (session.rollback if n % 2 else session.commit)()
        except BaseException as error:  # noqa: BLE001  # the test's to judge
            errors.append(error)

    threads = [threading.Thread(target=pay, args=(order_id,)) for order_id in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_WITHIN_SECONDS)

    assert errors == []
    assert sorted(any_shop.places()[4:]) == [
        ("order.paid", order_id, version, 0) for order_id in orders for version in (2, 3, 4)
    ]
    assert len(any_shop.eager.announced) == 12


@pytest.mark.service("postgresql")
def test_async_sessions_on_a_server_end_like_others() -> None:
    async def story(shop: Shop) -> None:
        engine = create_async_engine(shop.engine.url)
        sessions = async_sessionmaker(engine)
        shop.new_outbox().attach(sessions)
        try:
            async with sessions() as session:
                session.add(Order.place("o1"))
                await session.commit()
                (await session.get_one(Order, "o1")).pay()
                await session.rollback()
                savepoint = await session.begin_nested()
                session.add(Order.place("o2"))
                await savepoint.rollback()
                session.add(Order.place("o1"))
                with pytest.raises(IntegrityError):
                    await session.flush()
                await session.rollback()
                (await session.get_one(Order, "o1")).say_paid()
                await session.commit()
            async with sessions() as session:
                (await session.get_one(Order, "o1")).pay()
                await session.flush()
        finally:
            await engine.dispose()

    with shop_on("postgresql") as shop:
        asyncio.run(story(shop))

        assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]
        assert shop.eager.announced_types == ["test.order.placed", "test.order.paid"]


_ENDS: list[Callable[[Session], None]] = [Session.rollback, Session.close, Session.reset]


@pytest.mark.parametrize("end", _ENDS)
def test_whatever_ends_a_transaction_without_a_commit_stores_nothing(
    any_shop: Shop, end: Callable[[Session], None]
) -> None:
    any_shop.place("o1")
    with any_shop.sessions(autoflush=False) as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        with session.begin_nested():
            session.get_one(Order, "o1").change_quantity(3)
        end(session)
        session.commit()

    assert any_shop.rows() == ["order.placed"]
    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.eager.announced == []
