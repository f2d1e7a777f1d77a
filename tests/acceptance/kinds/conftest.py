"""Each database in turn, with an outbox table of its own, and time that passes when told."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.acceptance.kinds.virtual_time import VirtualTime
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)

_SERVERS = [
    pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
    pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
]


@pytest.fixture(params=["sqlite", *_SERVERS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OutboxDatabase]:
    engines: dict[str, Callable[[], sa.Engine]] = {
        "sqlite": lambda: sqlite_engine(tmp_path),
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }
    with outbox_database(engines[request.param]()) as database:
        yield database


@pytest.fixture(params=_SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[OutboxDatabase]:
    """A database with many writers, at the isolation level that its own default is."""
    engines = {"postgresql": postgresql_engine, "mariadb": lambda: mariadb_engine(None)}
    with outbox_database(engines[request.param]()) as database:
        yield database


@pytest.fixture
def virtual(database: OutboxDatabase) -> VirtualTime:
    return VirtualTime(database)
