"""A recorder on a connection that does not lead to the outbox which is read and sent."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from tests.adapters.sqlalchemy.models import Happened, metadata
from tests.adapters.sqlalchemy.shop import sqlite_shop


def test_another_database_is_refused_though_it_has_such_a_table(tmp_path: Path) -> None:
    elsewhere = create_sqlite_engine(tmp_path / "elsewhere.db")
    metadata.create_all(elsewhere)
    with sqlite_shop(tmp_path) as shop, elsewhere.connect() as connection:
        recorder = shop.outbox.recorder(connection)
        with pytest.raises(UnitOfWorkError, match="no event would ever be sent"):
            recorder.record("test.job", "j1", Happened(aggregate_id="j1"))


def test_an_engine_whose_savepoints_commit_is_refused(tmp_path: Path) -> None:
    with sqlite_shop(tmp_path) as shop:
        unprepared = sa.create_engine(shop.engine.url)
        with unprepared.connect() as connection, connection.begin_nested():
            recorder = shop.outbox.recorder(connection)
            with pytest.raises(UnitOfWorkError, match="make_sqlite_safe"):
                recorder.record("test.job", "j1", Happened(aggregate_id="j1"))
        unprepared.dispose()

        assert shop.rows() == []


def test_another_engine_to_the_same_database_is_welcome(tmp_path: Path) -> None:
    with sqlite_shop(tmp_path) as shop:
        another = create_sqlite_engine(shop.engine.url.database or "")
        with another.begin() as connection:
            recorder = shop.outbox.recorder(connection)
            recorder.record("test.job", "j1", Happened(aggregate_id="j1"))
        another.dispose()

        assert shop.rows() == ["happened"]
