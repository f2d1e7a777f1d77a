"""Any story of a session: afterwards the outbox holds the events of what was committed, no others.

A failing story is printed step by step, and every run finds it again. To look for others:

    pytest tests/adapters/sqlalchemy/test_session_model.py --hypothesis-seed=<a number>
"""

import gc
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.adapters.sqlalchemy.session_story import SessionStory
from tests.adapters.sqlalchemy.shop import Shop, shop_on, sqlite_shop


def tell_stories(
    request: pytest.FixtureRequest, shop: Shop, reader: sa.Engine, *, examples: int
) -> int:
    """Tell stories, and return how many events they have committed: each was looked for."""
    committed = 0

    class Story(SessionStory):
        def __init__(self) -> None:
            super().__init__(shop, reader)

        def teardown(self) -> None:
            nonlocal committed
            committed += len(self.database.places)
            super().teardown()

    seed = request.config.getoption("hypothesisseed", None)
    gc.freeze()  # what a story drops is collected often: look only at what is new
    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            derandomize=seed is None,
            database=None,
            deadline=None,
            print_blob=True,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return committed


@pytest.mark.timeout(600)
def test_any_story_on_sqlite(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with sqlite_shop(tmp_path) as shop:
        reader = sa.create_engine(shop.engine.url)
        committed = tell_stories(request, shop, reader, examples=80)
        reader.dispose()

    assert committed > 80


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "database",
    [
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ],
)
def test_any_story_on_a_server(request: pytest.FixtureRequest, database: str) -> None:
    with shop_on(database) as shop:
        assert tell_stories(request, shop, shop.engine, examples=25) > 25
