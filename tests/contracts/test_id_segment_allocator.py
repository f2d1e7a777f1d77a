"""Every segment allocator does what the contract says."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports.identifiers import IIdSegmentAllocator
from pragmatic_ddd.testing.id_segment_allocator import FIRST_IDS, IdSegmentAllocatorContract
from pragmatic_ddd_local import InMemorySegmentAllocator
from pragmatic_ddd_sqlalchemy import SqlAlchemySegmentAllocator, id_segment_table
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine


class TestInMemory(IdSegmentAllocatorContract):
    @pytest.fixture
    def allocator(self) -> IIdSegmentAllocator:
        return InMemorySegmentAllocator(FIRST_IDS)


@contextmanager
def _allocator(engine: sa.Engine) -> Iterator[SqlAlchemySegmentAllocator]:
    metadata = sa.MetaData()
    table = id_segment_table(metadata, f"id_segment_{secrets.token_hex(6)}")
    metadata.create_all(engine)
    allocator = SqlAlchemySegmentAllocator(engine, table)
    for sequence, first in FIRST_IDS.items():
        allocator.create(sequence, first=first)
    try:
        yield allocator
    finally:
        metadata.drop_all(engine)
        engine.dispose()


class TestSqlite(IdSegmentAllocatorContract):
    @pytest.fixture
    def allocator(self, tmp_path: Path) -> Iterator[IIdSegmentAllocator]:
        with _allocator(sqlite_engine(tmp_path)) as allocator:
            yield allocator


@pytest.mark.service("postgresql")
class TestPostgreSql(IdSegmentAllocatorContract):
    @pytest.fixture(params=["READ COMMITTED", "SERIALIZABLE"])
    def allocator(self, request: pytest.FixtureRequest) -> Iterator[IIdSegmentAllocator]:
        with _allocator(postgresql_engine(request.param)) as allocator:
            yield allocator


@pytest.mark.service("mariadb")
class TestMariaDb(IdSegmentAllocatorContract):
    @pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
    def allocator(self, request: pytest.FixtureRequest) -> Iterator[IIdSegmentAllocator]:
        with _allocator(mariadb_engine(request.param)) as allocator:
            yield allocator
