"""Aggregates as users map them: imperatively, declaratively, as dataclasses, with and without."""

import uuid

import sqlalchemy as sa
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    mapped_column,
    registry,
    relationship,
)

from pragmatic_ddd.domain import AggregateRoot, DomainEvent, Entity
from pragmatic_ddd_sqlalchemy.table import outbox_table

# Test runs that share a server do not share tables.
PREFIX = f"t{uuid.uuid4().hex[:8]}"

metadata = sa.MetaData()
outbox_message = outbox_table(metadata, name=f"{PREFIX}_outbox")
_registry = registry(metadata=metadata)


def _name(table: str) -> str:
    return f"{PREFIX}_{table}"


class OrderPlaced(DomainEvent, name="test.order.placed"):
    pass


class OrderPaid(DomainEvent, name="test.order.paid"):
    amount: int = 0


class OrderDeleted(DomainEvent, name="test.order.deleted"):
    pass


class RateQuoted(DomainEvent, name="test.order.rate_quoted"):
    rate: float


class Happened(DomainEvent, name="test.happened"):
    what: str = ""


class Line(Entity):
    order_id: str | None = None
    quantity: int = 1


class Order(AggregateRoot, name="test.order"):
    """Mapped imperatively, with children; ``updated_at`` is written by every UPDATE."""

    paid: bool = False
    lines: list[Line]

    @classmethod
    def place(cls, order_id: str) -> "Order":
        order = cls(id=order_id, lines=[Line(id=f"{order_id}-1")])
        order.collect_event(OrderPlaced(aggregate_id=order_id))
        return order

    def pay(self, amount: int = 0) -> None:
        self.paid = True
        self.say_paid(amount)

    def say_paid(self, amount: int = 0) -> None:
        """Raise an event without a change."""
        self.collect_event(OrderPaid(aggregate_id=self.id, amount=amount))

    def change_quantity(self, quantity: int) -> None:
        """Change only a child."""
        self.lines[0].quantity = quantity
        self.say_paid(quantity)


order_table = sa.Table(
    _name("order"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("paid", sa.Boolean, nullable=False),
    sa.Column("updates", sa.Integer, onupdate=1),
    sa.Column("version", sa.Integer, nullable=False),
)
line_table = sa.Table(
    _name("line"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("order_id", sa.ForeignKey(order_table.c.id), nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
)
_registry.map_imperatively(Line, line_table)
_registry.map_imperatively(
    Order,
    order_table,
    version_id_col=order_table.c.version,
    properties={"lines": relationship(Line, cascade="all, delete-orphan")},
)


class Counter(AggregateRoot, name="test.counter"):
    """Nothing but a key and a version."""


counter_table = sa.Table(
    _name("counter"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
_registry.map_imperatively(Counter, counter_table, version_id_col=counter_table.c.version)


class Note(AggregateRoot, name="test.note"):
    """Without a version."""

    text: str = ""


note_table = sa.Table(
    _name("note"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("text", sa.String(50), nullable=False),
)
_registry.map_imperatively(Note, note_table)


class Base(DeclarativeBase):
    metadata = metadata


class Gauge(Base, AggregateRoot, name="test.gauge"):
    """Its version is made by the database; a test has a trigger do that."""

    __tablename__ = _name("gauge")
    __table_args__ = {  # noqa: RUF012  # SQLAlchemy reads it
        "implicit_returning": False  # SQLite's RETURNING does not see what a trigger does
    }

    id: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    version: Mapped[int] = mapped_column(server_default="1", server_onupdate=sa.FetchedValue())
    touched: Mapped[int | None] = mapped_column(onupdate=1)
    level: Mapped[int] = mapped_column(default=0)

    __mapper_args__ = {  # noqa: RUF012  # SQLAlchemy reads it
        "version_id_col": version,
        "version_id_generator": False,
    }

    def read(self, level: int) -> None:
        self.level = level
        self.collect_event(Happened(aggregate_id=self.id))


class Ticket(Base, AggregateRoot, name="test.ticket"):
    """Declarative; the database gives its id."""

    __tablename__ = _name("ticket")

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(50))
    version: Mapped[int] = mapped_column(nullable=False)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012  # SQLAlchemy reads it

    def open(self) -> None:
        self.collect_event_later(lambda: Happened(aggregate_id=str(self.id), what=self.title))


class Vehicle(Base, AggregateRoot, name="test.vehicle"):
    """The base of a joined-table hierarchy."""

    __tablename__ = _name("vehicle")

    id: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(50))
    version: Mapped[int] = mapped_column(nullable=False)

    __mapper_args__ = {  # noqa: RUF012  # SQLAlchemy reads it
        "version_id_col": version,
        "polymorphic_on": "kind",
        "polymorphic_identity": "vehicle",
    }


class Lorry(Vehicle):
    """Its own column is in its own table."""

    __tablename__ = _name("lorry")

    id: Mapped[str] = mapped_column(sa.ForeignKey(Vehicle.id), primary_key=True)
    load: Mapped[int] = mapped_column()

    __mapper_args__ = {"polymorphic_identity": "lorry"}  # noqa: RUF012  # SQLAlchemy reads it

    def haul(self, load: int) -> None:
        self.load = load
        self.collect_event(Happened(aggregate_id=self.id))


class Booking(Base, AggregateRoot, name="test.booking"):
    """Two columns are its key, and its id is made of them."""

    __tablename__ = _name("booking")

    hotel: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(nullable=False)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012  # SQLAlchemy reads it

    @property  # type: ignore[misc]  # it takes the place of a field
    def id(self) -> str:
        return f"{self.hotel}:{self.number}"

    def confirm(self) -> None:
        self.collect_event(Happened(aggregate_id=self.id))


class DataclassBase(MappedAsDataclass, DeclarativeBase):
    metadata = metadata


class Badge(DataclassBase, AggregateRoot, name="test.badge"):
    """A mapped dataclass, with value equality and so without a hash."""

    __tablename__ = _name("badge")

    id: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    owner: Mapped[str] = mapped_column(sa.String(50), default="")
    version: Mapped[int] = mapped_column(init=False, nullable=False)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012  # SQLAlchemy reads it

    def hand_over(self, owner: str) -> None:
        self.owner = owner
        self.collect_event(Happened(aggregate_id=self.id, what=owner))


class Parcel(AggregateRoot, name="test.parcel"):
    """An aggregate that another one refers to, which it should do by id."""

    shipment_id: str | None = None


class Shipment(AggregateRoot, name="test.shipment"):
    parcels: list[Parcel]


shipment_table = sa.Table(
    _name("shipment"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
parcel_table = sa.Table(
    _name("parcel"),
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("shipment_id", sa.ForeignKey(shipment_table.c.id)),
    sa.Column("version", sa.Integer, nullable=False),
)
_registry.map_imperatively(Parcel, parcel_table, version_id_col=parcel_table.c.version)
_registry.map_imperatively(
    Shipment,
    shipment_table,
    version_id_col=shipment_table.c.version,
    properties={"parcels": relationship(Parcel)},
)
