"""Fixtures: a shop on SQLite, or on each database in turn. Test modules import them by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.sqlalchemy.shop import Shop, shop_on, sqlite_shop
from tests.databases import EVERY_DATABASE

__all__ = ["EVERY_DATABASE", "any_shop", "shop"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with sqlite_shop(tmp_path) as shop:
        yield shop


@pytest.fixture(params=EVERY_DATABASE)
def any_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    if request.param == "sqlite":
        with sqlite_shop(tmp_path) as shop:
            yield shop
    else:
        with shop_on(request.param) as shop:
            yield shop
