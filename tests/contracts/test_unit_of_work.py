"""The unit of work's contract: over repositories, and on SQLAlchemy and each database."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import registry, sessionmaker

from pragmatic_ddd.application.outbox import EventEncoding, OutboxUnitOfWork
from pragmatic_ddd.application.unit_of_work import UnitOfWork
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.ports import IUnitOfWork, OutboxMessage, Receipt
from pragmatic_ddd.testing.accounts import Account
from pragmatic_ddd.testing.unit_of_work import UnitOfWorkContract
from pragmatic_ddd_local import (
    InMemoryOutboxStore,
    InMemoryRepository,
    InMemoryTransactionOperations,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.outbox import SqlAlchemyOutbox
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import outbox_table
from pragmatic_ddd_sqlalchemy.units_of_work import SqlAlchemyUnitsOfWork
from tests import servers

# Test runs that share a server do not share tables.
_PREFIX = f"c{uuid.uuid4().hex[:8]}"

_metadata = sa.MetaData()
_outbox_message = outbox_table(_metadata, name=f"{_PREFIX}_outbox")
_account = sa.Table(
    f"{_PREFIX}_account",
    _metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("balance", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)


class StoredAccount(Account):
    """The contract's account, mapped."""


registry().map_imperatively(StoredAccount, _account, version_id_col=_account.c.version)


class TestInMemory(UnitOfWorkContract):
    @pytest.fixture
    def store(self) -> InMemoryOutboxStore:
        return InMemoryOutboxStore()

    @pytest.fixture
    def units_of_work(self, store: InMemoryOutboxStore) -> Callable[[], IUnitOfWork]:
        accounts = InMemoryRepository(Account, store.transactions)
        encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
        return lambda: OutboxUnitOfWork(
            transactions=store.transactions,
            store=store,
            encoding=encoding,
            repositories={Account: accounts},
        )

    @pytest.fixture
    def stored_messages(self, store: InMemoryOutboxStore) -> Callable[[], Sequence[OutboxMessage]]:
        return store.messages


class RecordingPublisher:
    """Remembers what is published."""

    def __init__(self) -> None:
        self.published: list[DomainEvent] = []

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        self.published.append(event)
        return Receipt("noted")

    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        return [self.publish(event) for event in events]


class TestWithoutAnOutbox(UnitOfWorkContract):
    """What counts as stored here is what was published."""

    encodes_events = False

    @pytest.fixture
    def publisher(self) -> RecordingPublisher:
        return RecordingPublisher()

    @pytest.fixture
    def units_of_work(self, publisher: RecordingPublisher) -> Callable[[], IUnitOfWork]:
        transactions = InMemoryTransactionOperations()
        accounts = InMemoryRepository(Account, transactions)
        return lambda: UnitOfWork(
            transactions=transactions, publisher=publisher, repositories={Account: accounts}
        )

    @pytest.fixture
    def stored_messages(
        self, publisher: RecordingPublisher
    ) -> Callable[[], Sequence[OutboxMessage]]:
        encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
        return lambda: [
            encoding.encode(event, aggregate_type="contract.account")
            for event in publisher.published
        ]


@attrs.frozen
class Database:
    engine: sa.Engine
    store: SqlAlchemyOutboxStore

    def units_of_work(self) -> Callable[[], IUnitOfWork]:
        encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
        sessions = sessionmaker(self.engine)
        SqlAlchemyOutbox(store=self.store, encoding=encoding).attach(sessions)
        return SqlAlchemyUnitsOfWork(sessions)

    def stored_messages(self) -> Sequence[OutboxMessage]:
        row = _outbox_message.c
        with self.engine.connect() as connection:
            ids = connection.scalars(sa.select(row.message_id).order_by(row.id)).all()
        entries = [self.store.find(message_id) for message_id in ids]
        return [entry.message for entry in entries if entry is not None]


class OnSqlAlchemy(UnitOfWorkContract):
    account_type = StoredAccount

    @pytest.fixture
    def engine(self) -> sa.Engine:
        raise NotImplementedError

    @pytest.fixture
    def database(self, engine: sa.Engine) -> Iterator[Database]:
        _metadata.create_all(engine)
        yield Database(engine, SqlAlchemyOutboxStore(engine, _outbox_message))
        _metadata.drop_all(engine)
        engine.dispose()

    @pytest.fixture
    def units_of_work(self, database: Database) -> Callable[[], IUnitOfWork]:
        return database.units_of_work()

    @pytest.fixture
    def stored_messages(self, database: Database) -> Callable[[], Sequence[OutboxMessage]]:
        return database.stored_messages


class TestSqlite(OnSqlAlchemy):
    units_overlap = False

    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return create_sqlite_engine(tmp_path / "accounts.db")


@pytest.mark.service("postgresql")
class TestPostgreSql(OnSqlAlchemy):
    @pytest.fixture
    def engine(self) -> sa.Engine:
        return sa.create_engine(servers.postgresql_url())


@pytest.mark.service("mariadb")
class TestMariaDb(OnSqlAlchemy):
    @pytest.fixture
    def engine(self) -> sa.Engine:
        return sa.create_engine(servers.mariadb_url())
