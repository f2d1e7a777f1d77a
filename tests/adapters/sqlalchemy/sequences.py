"""Fixtures: an allocator of the sequence ``test`` on each database in turn."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy import SqlAlchemySegmentAllocator, id_segment_table
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine


def engine_of(database: str, folder: Path) -> sa.Engine:
    if database == "sqlite":
        return sqlite_engine(folder)
    return postgresql_engine() if database == "postgresql" else mariadb_engine()


@contextmanager
def sequences_on(engine: sa.Engine) -> Iterator[SqlAlchemySegmentAllocator]:
    """Create a table of sequences with a name of its own, and drop it in the end."""
    metadata = sa.MetaData()
    table = id_segment_table(metadata, f"id_segment_{secrets.token_hex(6)}")
    metadata.create_all(engine)
    try:
        allocator = SqlAlchemySegmentAllocator(engine, table)
        allocator.create("test")
        yield allocator
    finally:
        metadata.drop_all(engine)
        engine.dispose()


@pytest.fixture(params=EVERY_DATABASE)
def any_allocator(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[SqlAlchemySegmentAllocator]:
    with sequences_on(engine_of(request.param, tmp_path)) as allocator:
        yield allocator


@pytest.fixture
def sqlite_allocator(tmp_path: Path) -> Iterator[SqlAlchemySegmentAllocator]:
    with sequences_on(sqlite_engine(tmp_path)) as allocator:
        yield allocator
