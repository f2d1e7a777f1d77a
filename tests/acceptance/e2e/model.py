"""What the run is about: an order, its events, its table."""

import sqlalchemy as sa
from sqlalchemy.orm import registry

from pragmatic_ddd import AggregateRoot, DomainEvent


class Probe(DomainEvent, name="e2e.probe"):
    """Sent before the first order, to see that the consumer holds every queue."""


class OrderChanged(DomainEvent, name="e2e.order.changed"):
    step: int


class Order(AggregateRoot, name="e2e.order"):
    steps: int = 0

    def change(self, events: int) -> None:
        for _ in range(events):
            self.steps += 1
            self.collect_event(OrderChanged(aggregate_id=self.id, step=self.steps))


def order_table(metadata: sa.MetaData, name: str) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(50), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("steps", sa.Integer, nullable=False),
        mysql_engine="InnoDB",
    )


def map_order(table: sa.Table) -> None:
    registry().map_imperatively(Order, table, version_id_col=table.c.version)
