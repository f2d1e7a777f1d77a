"""Marks and operations of aggregates that SQLAlchemy maps, without or with columns for them."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, registry

from pragmatic_ddd.domain import AggregateRoot, EntityOperation, OperationRegistry
from tests.adapters.sqlalchemy.models import Happened, Order
from tests.adapters.sqlalchemy.shop import Shop, sqlite_shop

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


class Operations(OperationRegistry):
    PAY = EntityOperation("marks.pay")


class Base(DeclarativeBase):
    pass


class Stamped(Base, AggregateRoot, name="marks.stamped", operations=Operations):
    """Declarative, with columns for its marks."""

    __tablename__ = "stamped"
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column()
    is_deleted: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    created_by: Mapped[str | None] = mapped_column()
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012  # SQLAlchemy reads it


class Imperative(AggregateRoot, name="marks.imperative"):
    """Imperative, with a column for one of its marks; a subclass inherits it."""


class Special(Imperative):
    pass


_table = sa.Table(
    "imperative",
    Base.metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("kind", sa.String(20)),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("is_deleted", sa.Boolean),
    sa.Column("updated_by", sa.String(50)),
)
_registry = registry(metadata=Base.metadata)
_registry.map_imperatively(
    Imperative,
    _table,
    version_id_col=_table.c.version,
    polymorphic_on=_table.c.kind,
    polymorphic_identity="plain",
)
_registry.map_imperatively(Special, inherits=Imperative, polymorphic_identity="special")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with sqlite_shop(tmp_path) as shop:
        Base.metadata.create_all(shop.engine)
        yield shop


def test_marks_with_columns_are_stored_and_loaded(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        stamped = Stamped(id="1")
        stamped.mark_created(NOON, by="ada")
        session.add(stamped)

    with shop.sessions.begin() as session:
        stamped = session.get_one(Stamped, "1")
        assert stamped.created_at is not None
        assert stamped.created_at.replace(tzinfo=dt.UTC) == NOON
        assert (stamped.created_by, stamped.updated_by) == ("ada", None)
        stamped.mark_deleted()

    with shop.sessions.begin() as session:
        assert session.get_one(Stamped, "1").is_deleted
        assert session.scalars(sa.select(Stamped).where(Stamped.is_deleted.is_(False))).all() == []


@pytest.mark.parametrize("kind", [Imperative, Special])
def test_marks_of_an_imperatively_mapped_class_are_stored(
    shop: Shop, kind: type[Imperative]
) -> None:
    with shop.sessions.begin() as session:
        session.add(kind(id="1"))
    with shop.sessions.begin() as session:
        found = session.get_one(Imperative, "1")
        assert not found.is_deleted
        found.mark_modified(NOON, by="ada")
        found.mark_deleted()
    with shop.sessions.begin() as session:
        found = session.get_one(Imperative, "1")
        assert (type(found), found.updated_by, found.is_deleted) == (kind, "ada", True)
        assert found.updated_at is None


def test_marks_without_columns_are_those_of_the_instance(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions.begin() as session:
        order = session.get_one(Order, "o1")
        assert (order.created_at, order.is_deleted) == (None, False)
        order.mark_modified(NOON)
        assert order.updated_at == NOON


def test_versions_are_known_before_and_after_an_aggregate_is_stored(shop: Shop) -> None:
    stamped = Stamped(id="1")
    assert (stamped.old_version, stamped.new_version, stamped.is_new) == (0, 1, True)
    with shop.sessions.begin() as session:
        session.add(stamped)
        session.flush()
        assert (stamped.old_version, stamped.new_version) == (1, 2)


def test_an_operation_is_stored_with_its_events_and_forgotten_after_the_commit(
    shop: Shop,
) -> None:
    with shop.sessions() as session:
        stamped = Stamped(id="1")
        session.add(stamped)
        stamped.record_operation(Operations.PAY)
        stamped.collect_event(Happened(aggregate_id="1"))
        session.commit()
        assert list(stamped.triggered_operations) == []
    assert _stored_headers(shop) == [{"operation-code": "marks.pay"}]


@pytest.mark.parametrize("end", [Session.commit, Session.rollback])
def test_an_operation_without_an_event_is_forgotten_at_the_end_of_the_transaction(
    shop: Shop, end: Callable[[Session], None]
) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.record_operation("shop.order.look")
        end(session)
        assert list(order.triggered_operations) == []
    assert shop.rows() == ["order.placed"]
    assert shop.orders() == {"o1": (False, 1)}


def test_a_new_aggregate_keeps_its_operations_with_its_events_after_a_rollback(
    shop: Shop,
) -> None:
    with shop.sessions() as session:
        order = Order.place("o1")
        order.record_operation("shop.order.place")
        session.add(order)
        session.flush()
        session.rollback()
        assert list(order.triggered_operations) == ["shop.order.place"]
        assert len(order.triggered_events) == 1


def _stored_headers(shop: Shop) -> list[object]:
    store = shop.outbox.store
    with shop.engine.connect() as connection:
        ids = connection.scalars(sa.select(store.table.c.message_id)).all()
    return [entry.message.headers for entry in map(store.find, ids) if entry is not None]
