"""A trigger that drops rows of the outbox in silence is told when events are stored."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd.testing.messages import a_message
from tests.adapters.sqlalchemy.models import Order, outbox_message
from tests.adapters.sqlalchemy.shop import shop_on
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import outbox_database, postgresql_engine, sqlite_engine


@contextlib.contextmanager
def _dropping(engine: sa.Engine, table: str, condition: str) -> Iterator[None]:
    """Have the database leave out rows as long as the block runs. MySQL's triggers cannot."""
    if engine.dialect.name == "sqlite":
        function = None
        action = "BEGIN SELECT RAISE(IGNORE); END"
        ending = "DROP TRIGGER dropping"
    else:
        function = (
            f"CREATE FUNCTION {table}_drop() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'"
        )
        action = f"EXECUTE FUNCTION {table}_drop()"
        ending = f"DROP FUNCTION {table}_drop() CASCADE"
    trigger = (
        f"CREATE TRIGGER dropping BEFORE INSERT ON {table} FOR EACH ROW WHEN ({condition}) {action}"
    )
    with engine.begin() as connection:
        for statement in filter(None, (function, trigger)):
            connection.execute(sa.text(statement))
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(sa.text(ending))


@pytest.mark.parametrize(
    "name", ["sqlite", pytest.param("postgresql", marks=pytest.mark.service("postgresql"))]
)
def test_a_store_that_keeps_fewer_rows_than_it_was_given_says_so(name: str, tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path) if name == "sqlite" else postgresql_engine()
    with (
        outbox_database(engine) as database,
        _dropping(engine, database.table.name, "NEW.message_id = 'm1'"),
    ):
        store = database.store()

        for messages in (["m0", "m1", "m2"], ["m1"]):
            with pytest.raises(OutboxSchemaError, match=f"1 of {len(messages)} .*'m1'.*trigger"):
                store.store([a_message(one) for one in messages])

        assert store.backlog().pending == 0
        assert len(store.store([a_message("m0"), a_message("m2")])) == 2


@pytest.mark.service("postgresql")
def test_a_dropped_event_is_told_too_late_where_it_travels_with_the_commit() -> None:
    with (
        shop_on("postgresql") as shop,
        _dropping(shop.engine, outbox_message.name, "NEW.event_type LIKE '%paid'"),
    ):
        shop.place("o1", "o2")

        with (
            pytest.raises(OutboxSchemaError, match="dropped 1 of 1"),
            shop.sessions.begin() as session,
        ):
            session.get_one(Order, "o1").pay()
        with (
            statements_of(shop.engine),  # who listens has the events sent before the commit
            pytest.raises(OutboxSchemaError, match="dropped 1 of 1"),
            shop.sessions.begin() as session,
        ):
            session.get_one(Order, "o2").pay()

        assert shop.orders() == {"o1": (True, 2), "o2": (False, 1)}
        assert shop.eager.announced == []
        assert shop.eager.cancelled == shop.eager.reserved
