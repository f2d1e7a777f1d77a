"""Declarative mappings: the base class must leave the constructor to SQLAlchemy."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from pragmatic_ddd.domain import AggregateRoot, DomainEvent


class Base(DeclarativeBase):
    pass


class InvoiceSent(DomainEvent, name="shop.invoice.sent"):
    pass


class Invoice(Base, AggregateRoot, name="shop.invoice"):
    __tablename__ = "invoice"

    id: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)


def test_a_declarative_aggregate_is_made_from_its_columns() -> None:
    invoice = Invoice(id=1, total=5)
    invoice.collect_event(InvoiceSent(aggregate_id="1"))

    assert (invoice.id, invoice.total) == (1, 5)
    assert invoice.is_new
    assert len(invoice.triggered_events) == 1
    assert invoice == Invoice(id=1)


def test_a_declarative_aggregate_that_was_loaded_collects_events() -> None:
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with sa.orm.Session(engine) as session:
        session.add(Invoice(id=1, version=1))
        session.commit()
        session.expunge_all()

        loaded = session.get_one(Invoice, 1)
        loaded.collect_event(InvoiceSent(aggregate_id="1"))

        assert not loaded.is_new
        assert len(loaded.triggered_events) == 1
    engine.dispose()


def test_the_declarative_base_comes_first() -> None:
    with pytest.raises(TypeError, match="declarative base first"):

        class Wrong(AggregateRoot, Base, name="shop.wrong"):
            __tablename__ = "wrong"

            id: Mapped[int] = mapped_column(primary_key=True)
