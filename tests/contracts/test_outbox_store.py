"""Every outbox store does what the contract says."""

import datetime as dt
from collections.abc import Iterator

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.transactions import ITransactionOperations
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.outbox_store import OutboxStoreContract
from pragmatic_ddd_local import InMemoryOutboxStore
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)


class TestInMemory(OutboxStoreContract):
    @pytest.fixture
    def store(self) -> IOutboxStore:
        return InMemoryOutboxStore(SettableClock())

    def pass_time(self, store: IOutboxStore, duration: dt.timedelta) -> None:
        assert isinstance(store, InMemoryOutboxStore)
        assert isinstance(store.clock, SettableClock)
        store.clock.advance(duration)

    def transactions(self, store: IOutboxStore) -> ITransactionOperations:
        assert isinstance(store, InMemoryOutboxStore)
        return store.transactions


class SqlAlchemyBinding(OutboxStoreContract):
    database: OutboxDatabase

    def bind(self, database: OutboxDatabase) -> SqlAlchemyOutboxStore:
        database.clear()
        self.database = database
        return database.store()

    def pass_time(self, store: IOutboxStore, duration: dt.timedelta) -> None:
        self.database.pass_time(duration)

    def transactions(self, store: IOutboxStore) -> ITransactionOperations:
        assert isinstance(store, SqlAlchemyOutboxStore)
        return store.transactions


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutboxDatabase]:
    with outbox_database(sqlite_engine(tmp_path_factory.mktemp("sqlite"))) as database:
        yield database


@pytest.fixture(scope="module")
def postgresql() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine()) as database:
        yield database


@pytest.fixture(scope="module")
def postgresql_repeatable_read() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine("REPEATABLE READ")) as database:
        yield database


@pytest.fixture(scope="module")
def postgresql_serializable() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine("SERIALIZABLE")) as database:
        yield database


@pytest.fixture(scope="module")
def mariadb() -> Iterator[OutboxDatabase]:
    with outbox_database(mariadb_engine(dialect="mariadb")) as database:
        yield database


@pytest.fixture(scope="module")
def mariadb_repeatable_read() -> Iterator[OutboxDatabase]:
    with outbox_database(mariadb_engine("REPEATABLE READ")) as database:
        yield database


class TestSqlite(SqlAlchemyBinding):
    @pytest.fixture
    def store(self, sqlite: OutboxDatabase) -> IOutboxStore:
        return self.bind(sqlite)


@pytest.mark.service("postgresql")
class TestPostgreSql(SqlAlchemyBinding):
    @pytest.fixture
    def store(self, postgresql: OutboxDatabase) -> IOutboxStore:
        return self.bind(postgresql)


@pytest.mark.service("postgresql")
class TestPostgreSqlSerializable(SqlAlchemyBinding):
    """The application's isolation level is its own; nothing is born owned at this one."""

    reserves = False

    @pytest.fixture
    def store(self, postgresql_serializable: OutboxDatabase) -> IOutboxStore:
        return self.bind(postgresql_serializable)


@pytest.mark.service("postgresql")
class TestPostgreSqlRepeatableRead(SqlAlchemyBinding):
    """As above."""

    reserves = False

    @pytest.fixture
    def store(self, postgresql_repeatable_read: OutboxDatabase) -> IOutboxStore:
        return self.bind(postgresql_repeatable_read)


@pytest.mark.service("mariadb")
class TestMariaDb(SqlAlchemyBinding):
    @pytest.fixture
    def store(self, mariadb: OutboxDatabase) -> IOutboxStore:
        return self.bind(mariadb)


@pytest.mark.service("mariadb")
class TestMariaDbRepeatableRead(SqlAlchemyBinding):
    """As above: the default of MySQL and MariaDB."""

    reserves = False

    @pytest.fixture
    def store(self, mariadb_repeatable_read: OutboxDatabase) -> IOutboxStore:
        return self.bind(mariadb_repeatable_read)
