"""Events without an aggregate, recorded in the caller's transaction."""

import asyncio

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import (
    EventSerializationError,
    ForeignEventError,
    OutboxStoreError,
    UnitOfWorkError,
)
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Happened, Order, RateQuoted
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def happened(job_id: str = "j1") -> Happened:
    return Happened(aggregate_id=job_id)


def test_in_a_session_it_waits_for_the_commit(any_shop: Shop) -> None:
    with any_shop.sessions() as session:
        any_shop.outbox.recorder(session).record("test.job", "j1", happened())
        session.commit()

    assert any_shop.places() == [("happened", "j1", None, 0)]
    assert any_shop.owners() == [False]
    assert any_shop.eager.announced_types == ["test.happened"]


def test_in_a_session_it_goes_with_a_rollback_and_with_a_close(shop: Shop) -> None:
    with shop.sessions() as session:
        recorder = shop.outbox.recorder(session)
        recorder.record("test.job", "j1", happened())
        session.rollback()
        session.commit()
        recorder.record("test.job", "j1", happened())
        session.close()
        session.commit()

    assert shop.rows() == []
    assert shop.eager.reserved == []


def test_in_a_session_it_goes_with_a_savepoint(any_shop: Shop) -> None:
    with any_shop.sessions() as session:
        recorder = any_shop.outbox.recorder(session)
        savepoint = session.begin_nested()
        recorder.record("test.job", "j1", happened("j1"))
        savepoint.rollback()
        with session.begin_nested():
            recorder.record("test.job", "j2", happened("j2"))
        session.commit()

    assert any_shop.places() == [("happened", "j2", None, 0)]


def test_it_stands_beside_the_events_of_aggregates(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        shop.outbox.recorder(session).record("test.job", "j1", happened())
        session.add(Order.place("o1"))

    assert sorted(shop.rows()) == ["happened", "order.placed"]
    assert shop.owners() == [True, False]


def test_a_version_that_the_event_carries_is_not_believed(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        shop.outbox.recorder(session).record("test.job", "j1", happened().placed_at(7, 3))
    with shop.engine.begin() as connection:
        shop.outbox.recorder(connection).record("test.job", "j1", happened().placed_at(7, 3))

    assert [place[2:] for place in shop.places()] == [(None, 0), (None, 0)]


def test_on_a_connection_it_inserts_at_once(any_shop: Shop) -> None:
    with any_shop.engine.connect() as connection:
        any_shop.outbox.recorder(connection).record("test.job", "j1", happened())
        connection.commit()

    assert any_shop.places() == [("happened", "j1", None, 0)]
    assert any_shop.owners() == [False]
    assert any_shop.eager.announced == []


def test_on_a_connection_it_goes_with_the_rollback(any_shop: Shop) -> None:
    with any_shop.engine.connect() as connection:
        any_shop.outbox.recorder(connection).record("test.job", "j1", happened())
        connection.rollback()
        with connection.begin(), connection.begin_nested() as savepoint:
            any_shop.outbox.recorder(connection).record("test.job", "j1", happened())
            savepoint.rollback()

    assert any_shop.rows() == []


def test_an_event_of_something_else_is_refused(shop: Shop) -> None:
    with shop.sessions() as session:
        with pytest.raises(ForeignEventError, match="'j2'"):
            shop.outbox.recorder(session).record("test.job", "j2", happened("j1"))
        session.commit()

    assert shop.rows() == []


def test_an_event_that_cannot_be_written_is_refused_when_it_is_recorded(shop: Shop) -> None:
    with shop.sessions() as session:
        with pytest.raises(EventSerializationError):
            shop.outbox.recorder(session).record(
                "test.job", "j1", RateQuoted(aggregate_id="j1", rate=float("inf"))
            )
        session.commit()

    assert shop.rows() == []


def test_an_event_recorded_twice_is_refused(shop: Shop) -> None:
    event = happened()
    with shop.engine.connect() as connection:
        recorder = shop.outbox.recorder(connection)
        recorder.record("test.job", "j1", event)
        with pytest.raises(OutboxStoreError):
            recorder.record("test.job", "j1", event)


def test_after_the_commit_it_records_into_the_next_transaction(shop: Shop) -> None:
    sessions = sessionmaker(shop.engine)
    outbox = shop.new_outbox()
    outbox.attach(sessions)

    def record(session: Session) -> None:
        outbox.recorder(session).record("test.job", "j1", happened())

    sa.event.listen(sessions, "after_commit", record, once=True)
    with sessions() as session:
        session.add(Order.place("o1"))
        session.commit()
        assert shop.rows() == ["order.placed"]
        session.commit()

    assert shop.rows() == ["order.placed", "happened"]


def test_a_session_of_another_sessionmaker_is_refused(shop: Shop) -> None:
    with Session(shop.engine) as session, pytest.raises(UnitOfWorkError, match="not attached"):
        shop.outbox.recorder(session)
    with shop.sessions() as session, pytest.raises(UnitOfWorkError, match="not attached"):
        shop.new_outbox().recorder(session)


def test_an_engine_or_an_async_connection_is_no_transaction(shop: Shop) -> None:
    async def ask() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{shop.engine.url.database}")
        async with engine.connect() as connection:
            with pytest.raises(TypeError, match="sync"):
                shop.outbox.recorder(connection)  # type: ignore[arg-type]  # wrong on purpose
        await engine.dispose()

    with pytest.raises(TypeError, match="connection"):
        shop.outbox.recorder(shop.engine)  # type: ignore[arg-type]  # wrong on purpose
    asyncio.run(ask())


@pytest.mark.service("postgresql")
def test_a_connection_in_autocommit_is_refused() -> None:
    from tests.adapters.sqlalchemy.shop import shop_on

    with shop_on("postgresql") as shop:
        options = {"isolation_level": "AUTOCOMMIT"}
        with shop.engine.connect().execution_options(**options) as connection:
            recorder = shop.outbox.recorder(connection)
            with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
                recorder.record("test.job", "j1", happened())

        assert shop.rows() == []
