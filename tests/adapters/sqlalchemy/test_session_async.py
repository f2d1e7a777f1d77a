"""Async sessions: the same hook, behind a greenlet; eager path and store have a sync engine."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import ConfigurationError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import make_sqlite_safe
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.databases import shop
from tests.adapters.sqlalchemy.models import Happened, Order, Ticket
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["shop"]

AsyncSessions = async_sessionmaker[AsyncSession]


def run(
    shop: Shop, story: Callable[[AsyncSessions], Awaitable[None]], sync_session_class: object = None
) -> None:
    """Run a story with async sessions on the shop's database."""

    async def with_engine() -> None:
        engine: AsyncEngine = create_async_engine(f"sqlite+aiosqlite:///{shop.engine.url.database}")
        make_sqlite_safe(engine.sync_engine)
        sessions = async_sessionmaker(engine, sync_session_class=sync_session_class)
        shop.new_outbox().attach(sessions)
        try:
            await story(sessions)
        finally:
            await engine.dispose()

    asyncio.run(with_engine())


def test_an_async_commit_stores_and_announces(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with sessions.begin() as session:
            session.add(Order.place("o1"))
        async with sessions() as session:
            (await session.get_one(Order, "o1")).say_paid()
            await session.commit()

    run(shop, story)

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]
    assert shop.eager.announced_types == ["test.order.placed", "test.order.paid"]


def test_an_async_rollback_and_an_async_close_store_nothing(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with sessions() as session:
            session.add(Order.place("o1"))
            await session.flush()
            await session.rollback()
        async with sessions() as session:
            session.add(Order.place("o2"))
            await session.flush()

    run(shop, story)

    assert shop.rows() == []
    assert shop.eager.announced == []


def test_an_async_savepoint_takes_its_events_with_it(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with sessions() as session:
            order = Order.place("o1")
            session.add(order)
            savepoint = await session.begin_nested()
            order.pay()
            await savepoint.rollback()
            await session.refresh(order)
            async with session.begin_nested():
                order.say_paid()
            assert shop.eager.announced == []
            await session.commit()

    run(shop, story)

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 1, 1)]


def test_an_expired_aggregate_is_loaded_where_it_may_be(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with sessions() as session:
            ticket = Ticket(title="lamp")
            ticket.open()
            session.add(ticket)
            await session.commit()
            await session.refresh(ticket)
            ticket.collect_event(Happened(aggregate_id=str(ticket.id)))
            session.expire_all()
            await session.commit()

    run(shop, story)

    assert [place[2:] for place in shop.places()] == [(1, 0), (2, 0)]


def test_an_async_recorder_waits_for_the_commit(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        outbox = shop.new_outbox()
        engine = sessions.kw["bind"]
        recording = async_sessionmaker(engine)
        outbox.attach(recording)
        async with recording.begin() as session:
            outbox.recorder(session).record("test.job", "j1", Happened(aggregate_id="j1"))

    run(shop, story)

    assert shop.places() == [("happened", "j1", None, 0)]


def test_a_sync_session_class_of_your_own_is_kept(shop: Shop) -> None:
    class AuditedSession(Session):
        pass

    kinds: list[bool] = []

    async def story(sessions: AsyncSessions) -> None:
        async with sessions.begin() as session:
            kinds.append(isinstance(session.sync_session, AuditedSession))
            session.add(Order.place("o1"))

    run(shop, story, sync_session_class=AuditedSession)

    assert kinds == [True]
    assert shop.rows() == ["order.placed"]


def test_a_sync_sessionmaker_behind_async_sessions_is_hooked(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with sessions.begin() as session:
            session.add(Order.place("o1"))

    run(shop, story, sync_session_class=sessionmaker())

    assert shop.rows() == ["order.placed"]


def test_other_async_sessions_are_left_alone(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        async with async_sessionmaker(sessions.kw["bind"]).begin() as session:
            session.add(Order.place("o1"))

    run(shop, story)

    assert shop.rows() == []


def test_a_second_outbox_on_async_sessions_is_refused(shop: Shop) -> None:
    async def story(sessions: AsyncSessions) -> None:
        with pytest.raises(UnitOfWorkError, match="already"):
            shop.new_outbox().attach(sessions)

    run(shop, story)


def test_an_unprepared_async_engine_is_refused(shop: Shop) -> None:
    async def story() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{shop.engine.url.database}")
        sessions = async_sessionmaker(engine)
        shop.new_outbox().attach(sessions)
        async with sessions() as session:
            session.add(Order.place("o1"))
            with pytest.raises(UnitOfWorkError, match="sync_engine"):
                await session.commit()
        await engine.dispose()

    asyncio.run(story())

    assert shop.rows() == []


def test_a_store_without_a_sync_engine_is_one_clear_error(shop: Shop) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{shop.engine.url.database}")

    with pytest.raises(ConfigurationError, match="sync engine"):
        SqlAlchemyOutboxStore(engine)  # type: ignore[arg-type]  # wrong on purpose
