"""Fixtures: an outbox of its own on each database in turn. Test modules import them by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests import servers
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)


def engine_of(name: str, folder: Path) -> sa.Engine:
    if name == "sqlite":
        return sqlite_engine(folder)
    return postgresql_engine() if name == "postgresql" else mariadb_engine()


@pytest.fixture(params=EVERY_DATABASE)
def outbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OutboxDatabase]:
    with outbox_database(engine_of(request.param, tmp_path)) as database:
        yield database


@pytest.fixture(scope="module", params=EVERY_DATABASE)
def lasting_outbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OutboxDatabase]:
    """One for all tests of a module, and all examples of a property."""
    folder = tmp_path_factory.mktemp("outbox")
    with outbox_database(engine_of(request.param, folder)) as database:
        yield database


def lax_mariadb_engine() -> sa.Engine:
    """Return an engine whose sessions cut and round in silence what does not fit."""
    engine = mariadb_engine()
    set_on_connect(engine, "SET SESSION sql_mode = ''")
    return engine


def mariadb_engine_speaking(character_set: str) -> sa.Engine:
    url = sa.make_url(servers.mariadb_url()).update_query_dict({"charset": character_set})
    return sa.create_engine(url, isolation_level="READ COMMITTED")


def set_on_connect(engine: sa.Engine, statement: str) -> None:
    """Have every new connection of an engine begin with a statement."""

    def begin(connection: object, _: object) -> None:
        assert hasattr(connection, "cursor")
        connection.cursor().execute(statement)

    sa.event.listen(engine, "connect", begin)


def stored_bytes(database: OutboxDatabase, message_id: str) -> bytes:
    """Return the payload as it lies in the table, asked by hand."""
    as_hex = {
        "sqlite": "hex(payload)",
        "postgresql": "encode(convert_to(payload, 'UTF8'), 'hex')",
    }.get(database.engine.dialect.name, "HEX(payload)")
    statement = sa.text(
        f"SELECT {as_hex} FROM {database.quoted_table} WHERE message_id = :message_id"
    )
    with database.engine.connect() as connection:
        found = connection.execute(statement, {"message_id": message_id}).scalar_one()
    return bytes.fromhex(found)
