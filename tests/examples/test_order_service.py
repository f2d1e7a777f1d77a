"""The layered example: its rules, and its events on every database and over a broker."""

import datetime as dt
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import punq
import pytest
import sqlalchemy as sa

from examples.order_service.application import (
    AddLine,
    CancelOrder,
    IUnitsOfWork,
    OrderService,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.composition_root import compose, create_schema, running
from examples.order_service.domain import (
    EVENTS,
    CurrencyMismatchError,
    Money,
    Order,
    OrderAlreadyPaidError,
    OrderCancelledError,
    OrderedItem,
    OrderNotPaidError,
    OrderShippedError,
    OrderStatus,
    OrderWithoutLinesError,
)
from examples.order_service.infrastructure.tables import outbox_message, packing_list
from examples.order_service.settings import Settings
from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EagerOutboxPublisher
from pragmatic_ddd.errors import ConcurrencyError, ConfigurationError
from tests import servers

TEACUP = OrderedItem(sku="teacup", quantity=2, unit_price=Money.of("12.50 EUR"))
SAUCER = OrderedItem(sku="saucer", quantity=1, unit_price=Money.of("4.00 EUR"))
EVERY_DATABASE = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
    pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
]


def an_order() -> Order:
    return Order.place("order-1", "ann", [TEACUP])


def kinds(order: Order) -> list[str]:
    return [event.event_type for event in order.triggered_events.snapshot()]


def test_an_order_says_what_happens_to_it() -> None:
    order = an_order()
    order.add_line(SAUCER)
    order.pay("4711")
    order.ship("1Z")

    assert kinds(order) == [
        "shop.order.placed",
        "shop.order.line-added",
        "shop.order.paid",
        "shop.order.shipped",
    ]
    assert str(order.total) == "29.00 EUR"


@pytest.mark.parametrize(
    ("before", "asked", "refusal"),
    [
        (["pay"], "pay", OrderAlreadyPaidError),
        (["pay"], "add_line", OrderAlreadyPaidError),
        ([], "ship", OrderNotPaidError),
        (["pay", "ship"], "cancel", OrderShippedError),
        (["cancel"], "pay", OrderCancelledError),
    ],
)
def test_what_an_order_refuses_raises_no_event(
    before: list[str], asked: str, refusal: type[Exception]
) -> None:
    order = an_order()
    does: dict[str, Callable[[], None]] = {
        "pay": lambda: order.pay("4711"),
        "ship": lambda: order.ship("1Z"),
        "cancel": lambda: order.cancel("no more"),
        "add_line": lambda: order.add_line(SAUCER),
    }
    for step in before:
        does[step]()
    events = kinds(order)

    with pytest.raises(refusal, match="order order-1"):
        does[asked]()

    assert kinds(order) == events


def test_an_order_has_lines_in_one_currency() -> None:
    with pytest.raises(OrderWithoutLinesError):
        Order.place("order-1", "ann", [])
    with pytest.raises(CurrencyMismatchError):
        Order.place(
            "order-1",
            "ann",
            [TEACUP, OrderedItem(sku="saucer", quantity=1, unit_price=Money.of("4.00 USD"))],
        )


def test_money_has_no_fraction_of_a_cent() -> None:
    with pytest.raises(ValueError, match="whole number of cents"):
        Money.of("0.005 EUR")


@contextmanager
def a_database(name: str, folder: Path) -> Iterator[str]:
    """Make a database of its own, which no other test and no other run uses."""
    if name == "sqlite":
        yield f"sqlite:///{folder}/orders.db"
        return
    url = sa.make_url(servers.postgresql_url() if name == "postgresql" else servers.mariadb_url())
    own = f"examples_{uuid.uuid4().hex[:12]}"
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {own}")
        yield url.set(database=own).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {own}")
    admin.dispose()


@pytest.fixture(params=EVERY_DATABASE)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[punq.Container]:
    with a_database(request.param, tmp_path) as url:
        container = compose(Settings(database_url=url))
        create_schema(container)
        with running(container, with_relay=True):
            yield container


def outbox_of(container: punq.Container, order_id: str) -> list[tuple[str, int, str]]:
    """Return kind, version and status of an order's rows, once nothing is on its way."""
    eager: EagerOutboxPublisher = container.resolve(EagerOutboxPublisher)
    assert eager.wait_until_idle(dt.timedelta(seconds=20))
    column = outbox_message.c
    statement = sa.select(column.event_type, column.aggregate_version, column.status)
    engine: sa.Engine = container.resolve(sa.Engine)
    with engine.connect() as connection:
        rows = connection.execute(
            statement.where(column.aggregate_id == order_id).order_by(column.id)
        )
        return [(row[0].removeprefix("shop.order."), row[1], row[2]) for row in rows]


def packed(container: punq.Container) -> set[str]:
    engine: sa.Engine = container.resolve(sa.Engine)
    with engine.connect() as connection:
        return set(connection.scalars(sa.select(packing_list.c.order_id)))


def test_what_happens_to_an_order_is_stored_and_sent(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)

    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    orders.add_line(AddLine(order_id=order_id, item=SAUCER))
    orders.pay(PayOrder(order_id=order_id, payment_reference="4711"))
    orders.ship(ShipOrder(order_id=order_id, tracking_code="1Z"))

    assert outbox_of(container, order_id) == [
        ("placed", 1, "SENT"),
        ("line-added", 2, "SENT"),
        ("paid", 3, "SENT"),
        ("shipped", 4, "SENT"),
    ]
    assert packed(container) == {order_id}


def test_an_order_comes_back_as_it_was_stored(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP, SAUCER)))
    units_of_work: IUnitsOfWork = container.resolve(IUnitsOfWork)

    with units_of_work() as work:
        order = work.get(Order, order_id)

        assert order.status is OrderStatus.PLACED
        assert [line.as_item() for line in order.lines] == [TEACUP, SAUCER]
        assert order.total == Money.of("29.00 EUR")


def test_a_refused_command_changes_nothing(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))

    with pytest.raises(OrderNotPaidError):
        orders.ship(ShipOrder(order_id=order_id, tracking_code="1Z"))

    assert outbox_of(container, order_id) == [("placed", 1, "SENT")]


def test_what_is_cancelled_is_not_packed(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    orders.pay(PayOrder(order_id=order_id, payment_reference="4711"))
    orders.cancel(CancelOrder(order_id=order_id, reason="changed her mind"))

    assert [kind for kind, _, _ in outbox_of(container, order_id)] == [
        "placed",
        "paid",
        "cancelled",
    ]
    assert packed(container) == set()


# On SQLite, which has one writer at a time, the second waits for the first and wins nothing.
@pytest.mark.parametrize("container", EVERY_DATABASE[1:], indirect=True)
def test_of_two_people_who_change_an_order_one_must_try_again(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    units_of_work: IUnitsOfWork = container.resolve(IUnitsOfWork)

    with units_of_work() as late:
        order = late.get(Order, order_id)
        orders.pay(PayOrder(order_id=order_id, payment_reference="4711"))
        order.cancel("too expensive")
        with pytest.raises(ConcurrencyError):
            late.commit()

    assert [kind for kind, _, _ in outbox_of(container, order_id)] == ["placed", "paid"]


def test_settings_that_make_no_sense_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER", "amqp://somewhere")

    with pytest.raises(ConfigurationError, match="BROKER"):
        Settings.from_environment()


def test_no_event_is_forgotten_in_the_registry() -> None:
    raised = {
        event_type
        for event_type in DomainEvent.__subclasses__()
        if event_type.__module__.startswith("examples.order_service.")
    }

    assert raised == set(EVENTS)


def test_what_the_shop_leaves_behind_is_brought_by_a_relay_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/orders.db"
    container = compose(Settings(database_url=url))
    create_schema(container)
    container.resolve(EagerOutboxPublisher).shutdown()
    orders: OrderService = container.resolve(OrderService)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    orders.pay(PayOrder(order_id=order_id, payment_reference="4711"))
    assert [status for _, _, status in outbox_of(container, order_id)] == ["PENDING"] * 2

    app = "examples.order_service.relay:application"
    done = subprocess.run(
        [sys.executable, "-m", "pragmatic_ddd_relay", "run", "--once", "--app", app],
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert [status for _, _, status in outbox_of(container, order_id)] == ["SENT"] * 2
    assert packed(container) == {order_id}
    container.resolve(sa.Engine).dispose()


@pytest.mark.service("rocketmq")
def test_the_warehouse_hears_of_it_over_a_broker(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    consumer = subprocess.Popen(
        [sys.executable, "-m", "examples.order_service.consumer"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 90
        while not _packed_in(tmp_path / "orders.db"):
            assert time.monotonic() < deadline
            assert consumer.poll() is None
            _trade(environment)
    finally:
        consumer.send_signal(signal.SIGTERM)
        printed, _ = consumer.communicate(timeout=30)

    assert consumer.returncode == 0, printed
    assert "the warehouse listens" in printed
    assert "to pack" in printed


def _environment(folder: Path) -> dict[str, str]:
    library = servers.rocketmq_library()
    environment = os.environ | {
        "DATABASE_URL": f"sqlite:///{folder}/orders.db",
        "BROKER": f"rocketmq://{servers.rocketmq_name_server()}",
        # A group whose member has just left gives its queues away only after a minute.
        "CONSUMERS": f"warehouse-{secrets.token_hex(4)}",
        "ROCKETMQ_CLIENT_LOG_DIR": str(folder),
    }
    if library is not None:
        environment["PRAGMATIC_DDD_ROCKETMQ_LIBRARY"] = str(library)
    return environment


def _trade(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.order_service.shop"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not yet sent: 0" in done.stdout


def _packed_in(database: Path) -> int:
    if not database.exists():
        return 0
    connection = sqlite3.connect(database)
    try:
        (count,) = connection.execute("SELECT count(*) FROM warehouse_packing_list").fetchone()
    except sqlite3.OperationalError:  # the consumer has not made the table yet
        return 0
    finally:
        connection.close()
    return int(count)
