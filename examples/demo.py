"""The demonstration, `make demo`: what becomes of events when all is well, and when nothing is.

Real parts on a SQLite file: orders, the outbox, the eager publisher, a relay. The broker is the
in-process event manager behind a switch. Everything that it says, it checks.
"""

import datetime as dt
import logging
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.domain import EVENTS, Money, Order, OrderedItem, OrderPlaced
from examples.order_service.infrastructure.mapping import map_orders
from examples.order_service.infrastructure.tables import metadata, outbox_message
from pragmatic_ddd.application.outbox import (
    BrokerHealth,
    EagerOutboxPublisher,
    EventEncoding,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.errors import BrokerUnavailableError
from pragmatic_ddd.ports import IStoredEventPublisher, OutboxMessage, Receipt
from pragmatic_ddd_local import InMemoryEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
    create_sqlite_engine,
)

PATIENCE = dt.timedelta(seconds=20)
# Short, so that the demonstration is; a service takes the defaults.
QUICK = OutboxRelayConfig(
    poll_interval=dt.timedelta(milliseconds=200),
    grace=dt.timedelta(seconds=10),
    lease=dt.timedelta(seconds=10),
    max_attempts=3,
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=200),
)


@attrs.define
class SwitchedBroker:
    """A broker that can be off, or hold its answers back; it remembers what it has confirmed."""

    inner: IStoredEventPublisher
    is_on: bool = True
    answers: threading.Event = attrs.field(factory=threading.Event)
    confirmed: list[OutboxMessage] = attrs.field(factory=list)

    @property
    def longest_call(self) -> dt.timedelta:
        return self.inner.longest_call

    @property
    def side_by_side(self) -> int:
        return self.inner.side_by_side

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        if not self.is_on:
            raise BrokerUnavailableError(message.message_id, message.event_type, "switched off")
        self.answers.wait(self.longest_call.total_seconds())
        receipt = self.inner.publish_stored(message)
        self.confirmed.append(message)
        return receipt


@attrs.define
class Warehouse:
    """A subscriber that can meet an event it has no answer for."""

    shelves: set[str]

    def take_order(self, placed: OrderPlaced) -> None:
        for item in placed.items:
            if item.sku not in self.shelves:
                raise LookupError(f"no shelf for {item.sku!r}")


@attrs.frozen
class Row:
    """A row of the outbox, as far as it is shown."""

    id: int
    aggregate_id: str
    event_type: str
    status: str
    attempts: int


@attrs.define(kw_only=True)
class Shop:
    """What the demonstration does, and what it looks at."""

    engine: sa.Engine
    units_of_work: SqlAlchemyUnitsOfWork
    shown: int = 0

    def place(self, order_id: str, sku: str) -> None:
        item = OrderedItem(sku=sku, quantity=2, unit_price=Money.of("12.50 EUR"))
        with self.units_of_work() as work:
            work.add(Order.place(order_id, "customer-1", [item]))
            work.commit()

    def pay(self, order_id: str) -> None:
        with self.units_of_work() as work:
            work.get(Order, order_id).pay(f"payment of {order_id}")
            work.commit()

    def rows(self) -> list[Row]:
        column = outbox_message.c
        columns = [column[name] for name in attrs.fields_dict(Row)]
        statement = sa.select(*columns).where(column.id > self.shown).order_by(column.id)
        with self.engine.connect() as connection:
            return [Row(*row) for row in connection.execute(statement)]

    def show_when(self, *expected: str, in_any_order: bool = False) -> list[Row]:
        """Wait until the rows have these states, then print them; fail when they never do."""

        def are_there(rows: list[Row]) -> bool:
            states = [row.status for row in rows]
            return states == list(expected) or (in_any_order and sorted(states) == sorted(expected))

        rows = wait_for(self.rows, are_there)
        print(f"   {'id':>4}  {'order':9} {'event':20} {'status':10} attempts")
        for row in rows:
            print(
                f"   {row.id:>4}  {row.aggregate_id:9} {row.event_type:20} {row.status:10} "
                f"{row.attempts:>8}"
            )
        print()
        return rows

    def turn_page(self) -> None:
        """Leave the rows up to now out of the tables to come."""
        self.shown = max(row.id for row in self.rows())


def wait_for(look: Callable[[], list[Row]], is_there: Callable[[list[Row]], bool]) -> list[Row]:
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while not is_there(seen := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the demonstration waited in vain, and still sees {seen}")
        time.sleep(0.02)
    return seen


def all_is_well(shop: Shop) -> None:
    print("1. Orders are placed and paid. Their events are in the outbox with the same commit,")
    print("   and the committing process sends them at once.\n")
    shop.place("order-1", "teacup")
    shop.place("order-2", "saucer")
    shop.pay("order-1")
    shop.show_when("SENT", "SENT", "SENT")
    shop.turn_page()


def broker_is_away(shop: Shop, broker: SwitchedBroker) -> None:
    print("2. The broker is switched off. Orders still commit, their events wait as PENDING.")
    print("   An outage is nobody's fault: no attempt is counted.\n")
    broker.is_on = False
    shop.place("order-3", "teacup")
    shop.pay("order-2")
    shop.pay("order-3")
    rows = shop.show_when("PENDING", "PENDING", "PENDING")
    assert [row.attempts for row in rows] == [0, 0, 0]


def broker_is_back(shop: Shop, broker: SwitchedBroker) -> None:
    print("3. The broker is back. The relay, which looked for it now and then, claims one row to")
    print("   try it (PROCESSING: until its lease ends, nobody else sends it), then the rest.\n")
    broker.answers.clear()
    broker.is_on = True
    shop.show_when("PENDING", "PENDING", "PROCESSING", in_any_order=True)
    broker.answers.set()
    shop.show_when("SENT", "SENT", "SENT")
    shop.turn_page()


def an_event_is_poison(shop: Shop, store: SqlAlchemyOutboxStore) -> None:
    print("4. The warehouse has no shelf for teapots and unicorns: its subscriber raises an error.")
    print(
        f"   After {QUICK.max_attempts} attempts these events are FAILED. Later events of the same"
    )
    print("   order wait; other orders go on.\n")
    shop.place("order-4", "teapot")
    shop.place("order-5", "unicorn")
    shop.place("order-6", "teacup")
    for order_id in ("order-4", "order-5", "order-6"):
        shop.pay(order_id)
    shop.show_when("FAILED", "FAILED", "SENT", "PENDING", "PENDING", "SENT")
    assert [entry.attempts for entry in store.list_failed()] == [QUICK.max_attempts] * 2


def an_operator_decides(shop: Shop, warehouse: Warehouse, store: SqlAlchemyOutboxStore) -> None:
    print("5. An operator reads the dead letters (list_failed):\n")
    teapot, unicorn = store.list_failed()
    for entry in (teapot, unicorn):
        reason = str(entry.last_error).rpartition("'in-process': ")[2]
        print(f"      {entry.message.aggregate_id}: {reason}")
    print("\n   builds a shelf for teapots and replays the first; skips the second, which nobody")
    print("   will ever store. What waited follows, in order.\n")
    warehouse.shelves.add("teapot")
    store.replay([teapot.message.message_id])
    store.skip([unicorn.message.message_id], by="operator", reason="there are no unicorns")
    shop.show_when("SENT", "SKIPPED", "SENT", "SENT", "SENT", "SENT")


def check_the_order(broker: SwitchedBroker) -> None:
    places: dict[str, list[tuple[int | None, int]]] = {}
    for message in broker.confirmed:
        place = message.aggregate_version, message.event_index
        places.setdefault(message.aggregate_id, []).append(place)
    assert all(place == sorted(set(place)) for place in places.values())
    print(
        f"The broker confirmed {len(broker.confirmed)} events of {len(places)} orders: each once,"
    )
    print("and the events of every order in the order in which they were committed.")


def main(folder: Path) -> None:
    logging.basicConfig(handlers=[logging.NullHandler()])  # the tables tell the story here
    map_orders()
    engine = create_sqlite_engine(folder / "shop.db")
    metadata.create_all(engine)
    event_types = EventTypeRegistry(*EVENTS)
    serializer = OrjsonEventSerializer(event_types)
    store = SqlAlchemyOutboxStore(engine, outbox_message)
    warehouse = Warehouse(shelves={"teacup", "saucer"})
    events = InMemoryEventManager(serializer, longest_call=dt.timedelta(seconds=5))
    events.register_subscriber("warehouse", OrderPlaced, warehouse.take_order)
    broker = SwitchedBroker(events)
    broker.answers.set()
    health = BrokerHealth()
    relay = OutboxRelay(store=store, publisher=broker, config=QUICK, health=health)
    eager = EagerOutboxPublisher(
        store=store, publisher=broker, config=QUICK, health=health, wake_relay=relay.wake
    )
    sessions = orm.sessionmaker(engine)
    encoding = EventEncoding(serializer=serializer)
    SqlAlchemyOutbox(store=store, encoding=encoding, eager=eager).attach(sessions)
    shop = Shop(engine=engine, units_of_work=SqlAlchemyUnitsOfWork(sessions))

    with events, relay, eager:
        all_is_well(shop)
        broker_is_away(shop, broker)
        broker_is_back(shop, broker)
        an_event_is_poison(shop, store)
        an_operator_decides(shop, warehouse, store)
    check_the_order(broker)
    engine.dispose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
