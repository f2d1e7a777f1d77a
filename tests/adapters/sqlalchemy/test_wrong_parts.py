"""What does not fit together is refused where it is put together, in a line that can be read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import scoped_session

from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitOfWork,
    SqlAlchemyUnitsOfWork,
    create_sqlite_engine,
    ddl,
    make_sqlite_safe,
    outbox_table,
    validate_schema,
)
from tests.adapters.sqlalchemy.databases import shop
from tests.adapters.sqlalchemy.outboxes import outbox
from tests.adapters.sqlalchemy.shop import Shop
from tests.databases import OutboxDatabase

__all__ = ["outbox", "shop"]

_LONGEST_MESSAGE = 150


class Unmapped(AggregateRoot, name="test.unmapped"):
    pass


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("store", lambda shop: shop.engine, "<Engine object>: give a SqlAlchemyOutboxStore"),
        ("encoding", lambda shop: shop.outbox.encoding.serializer, "give an EventEncoding"),
        ("eager", lambda shop: shop.outbox, "this has no announce, cancel, reserve"),
        ("eager", lambda _: ScriptedPublisher(), "give an IEagerPath"),
    ],
)
def test_a_wrong_part_of_the_outbox_is_named_when_it_is_made(
    shop: Shop, name: str, wrong: Callable[[Shop], object], problem: str
) -> None:
    make: Callable[..., object] = SqlAlchemyOutbox
    parts = {"store": shop.outbox.store, "encoding": shop.outbox.encoding, "eager": shop.eager}

    with pytest.raises(TypeError, match=f"^{name} = .*{problem}") as refused:
        make(**parts | {name: wrong(shop)})

    assert len(str(refused.value)) < _LONGEST_MESSAGE


def test_a_wrong_serializer_is_named_before_the_first_commit(shop: Shop) -> None:
    registry: Any = shop.outbox.encoding.serializer

    with pytest.raises(TypeError, match=r"^serializer = <EventTypeRegistry object>: "):
        EventEncoding(serializer=registry.registry)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"table": "outbox_message"}, "^table = 'outbox_message': give a Table$"),
        ({"transactions": print}, "^transactions = .*: give a SqlAlchemyTransactionOperations$"),
        ({"horizon": 7200}, "^horizon = 7200: give a timedelta$"),
    ],
)
def test_a_wrong_part_of_the_store_is_named(
    shop: Shop, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        SqlAlchemyOutboxStore(shop.engine, **settings)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda shop, it: validate_schema(shop.engine, it), "^table = 30: give a Table$"),
        (lambda _, it: ddl("sqlite", it), "^table = 30: give a Table$"),
        (
            lambda shop, it: make_sqlite_safe(shop.engine, busy_timeout=it),
            "^busy_timeout = 30: give a timedelta$",
        ),
    ],
)
def test_a_wrong_argument_is_named(
    shop: Shop, call: Callable[[Shop, Any], object], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        call(shop, 30)


def test_a_file_is_not_opened_with_a_timeout_that_is_none(tmp_path: Path) -> None:
    seconds: Any = 30

    with pytest.raises(TypeError, match="busy_timeout = 30: give a timedelta"):
        create_sqlite_engine(tmp_path / "shop.db", busy_timeout=seconds)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda shop: shop.engine,
        lambda shop: shop.sessions(),
        lambda shop: scoped_session(shop.sessions),
        lambda _: None,
    ],
)
def test_units_of_work_are_made_of_a_sessionmaker(shop: Shop, wrong: Callable[[Shop], Any]) -> None:
    with pytest.raises(TypeError, match=r"^sessions = .*: give a sessionmaker$"):
        SqlAlchemyUnitsOfWork(wrong(shop))


def test_a_unit_of_work_is_made_of_a_session(shop: Shop) -> None:
    engine: Any = shop.engine

    with pytest.raises(TypeError, match=r"^session = <Engine object>: give a Session$"):
        SqlAlchemyUnitOfWork(engine)


def test_an_aggregate_that_is_not_mapped_is_no_failure_of_the_database(shop: Shop) -> None:
    with SqlAlchemyUnitsOfWork(shop.sessions)() as work:
        with pytest.raises(TypeError, match=r"^aggregate_type: <class Unmapped> is not mapped$"):
            work.get(Unmapped, "a1")
        with pytest.raises(TypeError, match=r"^aggregate: <class Unmapped> is not mapped$"):
            work.add(Unmapped(id="a1"))


@pytest.mark.parametrize("wrong", [lambda shop: shop.outbox.store, lambda shop: shop.engine])
def test_what_is_attached_or_recorded_in_is_shown_in_short(
    shop: Shop, wrong: Callable[[Shop], Any]
) -> None:
    for call in (shop.outbox.attach, shop.outbox.recorder):
        with pytest.raises(TypeError, match=r"object>: (attach|record)") as refused:
            call(wrong(shop))
        assert len(str(refused.value)) < _LONGEST_MESSAGE


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.store([a_message()]),
        lambda store: store.backlog(),
        lambda store: store.replay(["m"]),
    ],
)
def test_a_forgotten_table_is_told_with_what_creates_it(
    outbox: OutboxDatabase, call: Callable[[SqlAlchemyOutboxStore], object]
) -> None:
    store = SqlAlchemyOutboxStore(outbox.engine, outbox_table(sa.MetaData(), name="forgotten"))

    with pytest.raises(
        OutboxStoreError,
        match=r"; there is no table forgotten: create it with the statements of ddl\(\)$",
    ):
        call(store)
