"""What the run is about: an order, its events, its table."""

import sqlalchemy as sa

from pragmatic_ddd import AggregateRoot, DomainEvent
from tests.acceptance.mapping import aggregate_table, map_aggregate


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
    return aggregate_table(metadata, name, counting="steps")


def map_order(table: sa.Table) -> None:
    map_aggregate(Order, table)
