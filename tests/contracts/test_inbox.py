"""Every inbox does what the contract says: in memory, on each database, and behind a cache."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.inbox import CachedInbox
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import IInbox
from pragmatic_ddd.testing.inbox import InboxContract
from pragmatic_ddd.testing.inbox_binding import IInboxUnderTest
from pragmatic_ddd.testing.inbox_cache import InboxCacheContract
from pragmatic_ddd.testing.watermark_inbox import WatermarkInboxContract
from pragmatic_ddd_local import (
    InMemoryInbox,
    InMemoryInboxCache,
    InMemoryTransactionOperations,
    InMemoryWatermarkInbox,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyInbox,
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
    SqlAlchemyWatermarkInbox,
)
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine
from tests.inboxes import InboxDatabase, InboxGround, inbox_database


@attrs.define(eq=False)
class _StagedEffects:
    """The effects of an open transaction."""

    committed: list[str]
    effects: list[str] = attrs.field(factory=list)

    def apply(self) -> None:
        self.committed.extend(self.effects)

    def undo(self) -> None: ...


@attrs.frozen(eq=False)
class _GroundInMemory:
    remembering: IInbox[Any]
    committed: list[str] = attrs.field(factory=list)

    def inbox(self) -> IInbox[Any]:
        return self.remembering

    def write(self, work: object, effect: str) -> None:
        assert isinstance(work, InMemoryTransactionOperations)
        assert work.current is not None
        staged = work.current.staged_for(self, lambda: _StagedEffects(self.committed))
        staged.effects.append(effect)

    def effects(self) -> Sequence[str]:
        return list(self.committed)


class TestInMemory(InboxContract):
    @pytest.fixture
    def ground(self) -> IInboxUnderTest:
        return _GroundInMemory(InMemoryInbox())


class TestWatermarksInMemory(WatermarkInboxContract):
    @pytest.fixture
    def ground(self) -> IInboxUnderTest:
        return _GroundInMemory(InMemoryWatermarkInbox())


class TestCacheInMemory(InboxCacheContract):
    @pytest.fixture
    def cache(self) -> InMemoryInboxCache:
        return InMemoryInboxCache()


class _OnDatabase:
    @pytest.fixture
    def engine(self) -> sa.Engine:
        raise NotImplementedError

    @pytest.fixture
    def database(self, engine: sa.Engine) -> Iterator[InboxDatabase]:
        with inbox_database(engine) as database:
            yield database


class _Messages(_OnDatabase, InboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        return InboxGround(database, database.message_inbox)


class _Watermarks(_OnDatabase, WatermarkInboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        return InboxGround(database, database.watermark_inbox)


class _OnSqlite:
    handlers_overlap = False

    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return sqlite_engine(tmp_path)


class _OnPostgreSql:
    @pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
    def engine(self, request: pytest.FixtureRequest) -> sa.Engine:
        return postgresql_engine(request.param)


class _OnMariaDb:
    @pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
    def engine(self, request: pytest.FixtureRequest) -> sa.Engine:
        return mariadb_engine(request.param)


class TestMessagesOnSqlite(_OnSqlite, _Messages): ...


@pytest.mark.service("postgresql")
class TestMessagesOnPostgreSql(_OnPostgreSql, _Messages): ...


@pytest.mark.service("mariadb")
class TestMessagesOnMariaDb(_OnMariaDb, _Messages): ...


class TestWatermarksOnSqlite(_OnSqlite, _Watermarks): ...


@pytest.mark.service("postgresql")
class TestWatermarksOnPostgreSql(_OnPostgreSql, _Watermarks): ...


@pytest.mark.service("mariadb")
class TestWatermarksOnMariaDb(_OnMariaDb, _Watermarks): ...


def _sessions_with_outbox(database: InboxDatabase) -> sessionmaker[Session]:
    sessions = database.sessions
    encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
    SqlAlchemyOutbox(store=SqlAlchemyOutboxStore(database.engine), encoding=encoding).attach(
        sessions
    )
    return sessions


class TestMessagesInUnitsOfWork(_OnSqlite, _OnDatabase, InboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        units_of_work = SqlAlchemyUnitsOfWork(_sessions_with_outbox(database))
        return InboxGround(database, lambda: SqlAlchemyInbox(units_of_work, database.messages))


class TestWatermarksInUnitsOfWork(_OnSqlite, _OnDatabase, WatermarkInboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        units_of_work = SqlAlchemyUnitsOfWork(_sessions_with_outbox(database))
        return InboxGround(
            database, lambda: SqlAlchemyWatermarkInbox(units_of_work, database.watermarks)
        )


class TestMessagesBehindACache(_OnSqlite, _OnDatabase, InboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        cache = InMemoryInboxCache()
        return InboxGround(
            database, lambda: CachedInbox(inbox=database.message_inbox(), cache=cache)
        )


class TestWatermarksBehindACache(_OnSqlite, _OnDatabase, WatermarkInboxContract):
    @pytest.fixture
    def ground(self, database: InboxDatabase) -> IInboxUnderTest:
        cache = InMemoryInboxCache()
        return InboxGround(
            database, lambda: CachedInbox(inbox=database.watermark_inbox(), cache=cache)
        )
