"""The business that the benchmarks do: orders that are changed, with or without an event."""

import sqlalchemy as sa
from sqlalchemy.orm import registry

from pragmatic_ddd import AggregateRoot, DomainEvent


class OrderChanged(DomainEvent, name="bench.order.changed"):
    """Of the size that events have: its JSON takes some 350 bytes."""

    step: int
    customer: str = "c-4815162342"
    currency: str = "EUR"
    total: str = "137.25"
    shipping_address: str = "Unter den Linden 77, 10117 Berlin"
    lines: tuple[str, ...] = (
        "SKU-1001 x 2 at 12.50",
        "SKU-2002 x 1 at 99.95",
        "SKU-3 x 1 at 12.30",
    )
    note: str = "leave it with the neighbours, please"


class Order(AggregateRoot, name="bench.order"):
    steps: int = 0

    def change(self) -> None:
        self.steps += 1

    def change_and_tell(self) -> None:
        self.change()
        self.tell()

    def tell(self) -> None:
        """Raise an event, and change no column."""
        self.collect_event(OrderChanged(aggregate_id=self.id, step=self.steps))


def order_table(metadata: sa.MetaData, name: str) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(60), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("steps", sa.Integer, nullable=False),
        mysql_engine="InnoDB",
    )


def map_orders(table: sa.Table) -> registry:
    """Map orders to a table, until the returned registry is disposed of."""
    mapping = registry()
    mapping.map_imperatively(Order, table, version_id_col=table.c.version)
    return mapping
