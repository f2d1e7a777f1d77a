"""State machines as inboxes, on a database: what takes the place of a mark is the version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pragmatic_ddd.application.inbox import StateSubscriber, once_by_state
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitsOfWork
from tests.adapters.sqlalchemy.models import Note, OrderPaid
from tests.adapters.sqlalchemy.shop import Shop, sqlite_shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with sqlite_shop(tmp_path) as shop:
        yield shop


def test_an_aggregate_without_a_version_is_refused(shop: Shop) -> None:
    """Two deliveries at once would both find the state before, and both apply the event."""
    with shop.sessions.begin() as session:
        session.add(Note(id="n1"))
    applied: list[Note] = []
    subscriber: StateSubscriber[OrderPaid, Note] = once_by_state(
        SqlAlchemyUnitsOfWork(shop.sessions),
        Note,
        is_applied=lambda note, event: bool(applied),
        apply=lambda note, event: applied.append(note),
    )

    with pytest.raises(ConfigurationError, match=r"test\.note has no version"):
        subscriber(OrderPaid(aggregate_id="n1"))

    assert applied == []
