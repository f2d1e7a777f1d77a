"""A table with one column of a type, and what comes back from it."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import attrs
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy import create_memory_engine

T = TypeVar("T")


@attrs.frozen
class ColumnOfType(Generic[T]):
    """A column ``held`` of one type, in a table with rows of increasing ids."""

    connection: sa.Connection
    table: sa.Table

    @property
    def held(self) -> sa.Column[T]:
        return self.table.c.held

    @property
    def database(self) -> str:
        return self.connection.dialect.name

    def insert(self, *values: T | None) -> None:
        """Replace what is there by one row for each value."""
        self.connection.execute(sa.delete(self.table))
        rows = [{"id": number, "held": value} for number, value in enumerate(values)]
        self.connection.execute(sa.insert(self.table), rows)

    def select(self, column: "sa.ColumnElement[Any] | None" = None) -> Sequence[object]:
        """Return a column, or something made of one, of each row in the order of insertion."""
        chosen = self.held if column is None else column
        statement = sa.select(chosen).select_from(self.table).order_by(self.table.c.id)
        return self.connection.execute(statement).scalars().all()

    def of_all(self, aggregate: "sa.ColumnElement[Any]") -> object:
        """Return the sum, the minimum or the like."""
        return self.connection.execute(sa.select(aggregate)).scalar_one()

    def ids(self, where: "sa.ColumnElement[bool]") -> Sequence[int]:
        statement = sa.select(self.table.c.id).where(where).order_by(self.table.c.id)
        return self.connection.execute(statement).scalars().all()

    def round_trip(self, value: T) -> T:
        """Store a value, find it by itself as a parameter and as a literal, and load it."""
        self.insert(value)
        assert self.ids(self.held == value) == [0]
        assert self.ids(self.held == sa.literal(value, self.held.type, literal_execute=True)) == [0]
        back: T = self.connection.execute(sa.select(self.held)).scalar_one()
        return back

    def stored(self) -> object:
        """Return what the driver itself reads."""
        return self.connection.exec_driver_sql(f"SELECT held FROM {self.table.name}").scalar_one()

    def store(self, raw: str) -> None:
        """Store a literal that nobody has checked."""
        self.connection.execute(sa.delete(self.table))
        self.connection.execute(sa.text(f"INSERT INTO {self.table.name} VALUES (0, {raw})"))


@contextmanager
def column_of(kind: "sa.types.TypeEngine[T]", engine: sa.Engine) -> Iterator[ColumnOfType[T]]:
    """Create a table with a name of its own, keep it in one transaction, and drop it.

    Each on SQLite has a database in memory: a file has only one transaction at once.
    """
    if engine.dialect.name == "sqlite":
        engine = create_memory_engine()
    metadata = sa.MetaData()
    table = sa.Table(
        f"held_{secrets.token_hex(6)}",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("held", kind),
    )
    metadata.create_all(engine)
    try:
        with engine.connect() as connection:
            yield ColumnOfType(connection, table)
    finally:
        metadata.drop_all(engine)
        if engine.dialect.name == "sqlite":
            engine.dispose()
