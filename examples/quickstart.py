"""From nothing to a sent event in one file: an order is placed and paid, a warehouse hears of it.

Needs no server: in a clone, make wheel, then
pip install "build/dist/pragmatic_ddd-0.1.0-py3-none-any.whl[sqlalchemy,orjson]"
(once it is published, "pragmatic-ddd[sqlalchemy,orjson]"), then python quickstart.py
"""

import datetime as dt
import tempfile
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import orm

from pragmatic_ddd import AggregateRoot, DomainError, DomainEvent
from pragmatic_ddd.application.outbox import EagerOutboxPublisher, EventEncoding
from pragmatic_ddd_local import InMemoryEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
    create_sqlite_engine,
    outbox_table,
)

# The domain: an order, and what can happen to it.


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    total_cents: int


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total_cents: int


class Order(AggregateRoot, name="shop.order"):
    id: str
    total_cents: int
    paid: bool = False

    @classmethod
    def place(cls, order_id: str, total_cents: int) -> "Order":
        order = cls(id=order_id, total_cents=total_cents)
        order.collect_event(OrderPlaced(aggregate_id=order_id, total_cents=total_cents))
        return order

    def pay(self) -> None:
        if self.paid:
            raise DomainError(f"order {self.id} is paid already")
        self.paid = True
        self.collect_event(OrderPaid(aggregate_id=self.id, total_cents=self.total_cents))


# The tables: the order, and the outbox beside it.

metadata = sa.MetaData()
orders = sa.Table(
    "orders",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("total_cents", sa.Integer, nullable=False),
    sa.Column("paid", sa.Boolean, nullable=False),
)
outbox = outbox_table(metadata)


def main(folder: Path) -> None:
    # Wiring, once per process.
    orm.registry().map_imperatively(Order, orders, version_id_col=orders.c.version)
    event_types = EventTypeRegistry(OrderPlaced, OrderPaid)
    serializer = OrjsonEventSerializer(event_types)
    events = InMemoryEventManager(serializer)
    events.register_subscriber("warehouse", OrderPaid, lambda paid: print("warehouse:", paid))

    engine = create_sqlite_engine(folder / "shop.db")
    metadata.create_all(engine)
    store = SqlAlchemyOutboxStore(engine, outbox)
    with events, EagerOutboxPublisher(store=store, publisher=events) as eager:
        sessions = orm.sessionmaker(engine)
        encoding = EventEncoding(serializer=serializer)
        SqlAlchemyOutbox(store=store, encoding=encoding, eager=eager).attach(sessions)
        units_of_work = SqlAlchemyUnitsOfWork(sessions)

        # The use: one transaction holds the order and its event, or neither.
        with units_of_work() as work:
            work.add(Order.place("order-1", total_cents=42_00))
            work.commit()
        with units_of_work() as work:
            work.get(Order, "order-1").pay()
            work.commit()

        # A few milliseconds later both are on their way; wait here only to show it.
        eager.wait_until_idle(dt.timedelta(seconds=10))
    with engine.connect() as connection:
        for row in connection.execute(sa.select(outbox.c.event_type, outbox.c.status)):
            print(f"{row.event_type:20} {row.status}")
    engine.dispose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
