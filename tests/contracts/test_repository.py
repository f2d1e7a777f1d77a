"""The repository's contract: in memory, and on SQLAlchemy and each database."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import registry, sessionmaker

from pragmatic_ddd.ports import IRepository
from pragmatic_ddd.testing.repository import InTransaction, RepositoryContract, Wallet
from pragmatic_ddd_local import InMemoryRepository, InMemoryTransactionOperations
from pragmatic_ddd_sqlalchemy import Repository
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine

T = TypeVar("T")

# Test runs that share a server do not share tables.
_metadata = sa.MetaData()
_wallet = sa.Table(
    f"c{uuid.uuid4().hex[:8]}_wallet",
    _metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("coins", sa.Integer, nullable=False),
    sa.Column("notes", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)


class StoredWallet(Wallet):
    """The contract's wallet, mapped."""


registry().map_imperatively(StoredWallet, _wallet, version_id_col=_wallet.c.version)


class TestInMemory(RepositoryContract):
    @pytest.fixture
    def in_transaction(self) -> InTransaction:
        transactions = InMemoryTransactionOperations()
        wallets: IRepository[Wallet] = InMemoryRepository(Wallet, transactions)

        def run(work: Callable[[IRepository[Wallet]], T], /) -> T:
            return transactions.execute(lambda: work(wallets))

        return run


class OnSqlAlchemy(RepositoryContract):
    wallet_type = StoredWallet

    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        raise NotImplementedError

    @pytest.fixture
    def in_transaction(self, engine: sa.Engine) -> Iterator[InTransaction]:
        _metadata.create_all(engine)
        sessions = sessionmaker(engine, expire_on_commit=False)

        def run(work: Callable[[IRepository[Wallet]], T], /) -> T:
            with sessions.begin() as session:
                wallets: IRepository[Wallet] = Repository[Wallet](StoredWallet, session)
                return work(wallets)

        yield run
        _metadata.drop_all(engine)
        engine.dispose()


class TestSqlite(OnSqlAlchemy):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return sqlite_engine(tmp_path)


@pytest.mark.service("postgresql")
class TestPostgreSql(OnSqlAlchemy):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return postgresql_engine()


@pytest.mark.service("mariadb")
class TestMariaDb(OnSqlAlchemy):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> sa.Engine:
        return mariadb_engine(None)
