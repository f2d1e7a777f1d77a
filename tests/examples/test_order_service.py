"""The layered example, put together, on every database."""

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import punq
import pytest
import sqlalchemy as sa

from examples.order_service.application import (
    AddLine,
    CancelOrder,
    CloseAccount,
    IOrderList,
    IUnitsOfWork,
    OrderService,
    OrderSummary,
    PayOrder,
    PlaceOrder,
    ShipOrder,
)
from examples.order_service.composition_root import (
    a_serializer,
    an_event_manager,
    compose,
    create_schema,
    running,
)
from examples.order_service.domain import Money, Order, OrderedItem, OrderStatus
from examples.order_service.infrastructure.tables import (
    order_list,
    outbox_message,
    packing_list,
    shop_order,
)
from examples.order_service.settings import Settings
from pragmatic_ddd.application.outbox import EagerOutboxPublisher
from pragmatic_ddd.errors import BrokenRuleError, ConcurrencyError, ConfigurationError
from pragmatic_ddd.ports import PageRequest
from tests.databases import EVERY_DATABASE, own_database

TEACUP = OrderedItem(sku="teacup", quantity=2, unit_price=Money.of("12.50 EUR"))
SAUCER = OrderedItem(sku="saucer", quantity=1, unit_price=Money.of("4.00 EUR"))
A_GHOST = OrderSummary(
    order_id="ghost",
    customer_id="ann",
    status=OrderStatus.PLACED,
    total=Money.of("1.00 EUR"),
)


@pytest.fixture(params=EVERY_DATABASE)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[punq.Container]:
    with own_database(request.param, tmp_path) as url:
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

    with pytest.raises(BrokenRuleError, match="not-paid"):
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


def listed(container: punq.Container, customer_id: str) -> list[OrderSummary]:
    read_model: IOrderList = container.resolve(IOrderList)
    return list(read_model.page(customer_id, PageRequest()).rows)


def test_a_dry_run_says_what_would_be_refused_and_leaves_no_trace(
    container: punq.Container,
) -> None:
    orders: OrderService = container.resolve(OrderService)
    a_crate = attrs.evolve(TEACUP, quantity=144)
    in_dollars = attrs.evolve(SAUCER, unit_price=Money.of("4.50 USD"))

    tried = orders.try_place(PlaceOrder(customer_id="ann", items=(a_crate, in_dollars)))
    assert [error.code for error in tried.broken_rules] == [
        "shop.order.too-many-pieces",
        "shop.order.mixed-currencies",
    ]
    assert orders.try_place(PlaceOrder(customer_id="ann", items=(TEACUP,))).is_satisfied

    engine: sa.Engine = container.resolve(sa.Engine)
    with engine.connect() as connection:
        for table in (shop_order, outbox_message):
            assert not connection.scalar(sa.select(sa.func.count()).select_from(table))


def test_a_closed_account_cancels_what_is_still_in_the_house(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    shipped, paid, placed = (
        orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,))) for _ in range(3)
    )
    others = orders.place(PlaceOrder(customer_id="bob", items=(TEACUP,)))
    for order_id in (shipped, paid):
        orders.pay(PayOrder(order_id=order_id, payment_reference="4711"))
    orders.ship(ShipOrder(order_id=shipped, tracking_code="1Z"))

    assert orders.close_account(CloseAccount(customer_id="ann")) == 2
    assert orders.close_account(CloseAccount(customer_id="ann")) == 0

    last = {each: outbox_of(container, each)[-1] for each in (shipped, paid, placed, others)}
    assert last == {
        shipped: ("shipped", 3, "SENT"),
        paid: ("cancelled", 3, "SENT"),
        placed: ("cancelled", 2, "SENT"),
        others: ("placed", 1, "SENT"),
    }
    assert causes_of(container, placed) == ["shop.order.place", "shop.order.close-account"]


def causes_of(container: punq.Container, order_id: str) -> list[str]:
    column = outbox_message.c
    statement = sa.select(column.headers).where(column.aggregate_id == order_id).order_by(column.id)
    engine: sa.Engine = container.resolve(sa.Engine)
    with engine.connect() as connection:
        return [json.loads(headers)["operation-code"] for headers in connection.scalars(statement)]


def test_a_customer_leafs_through_the_list_of_orders_newest_first(
    container: punq.Container,
) -> None:
    orders: OrderService = container.resolve(OrderService)
    read_model: IOrderList = container.resolve(IOrderList)
    first, second, third = (
        orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,))) for _ in range(3)
    )
    orders.place(PlaceOrder(customer_id="bob", items=(TEACUP,)))
    orders.add_line(AddLine(order_id=second, item=SAUCER))
    orders.pay(PayOrder(order_id=second, payment_reference="4711"))
    for order_id in (first, second, third):
        outbox_of(container, order_id)

    page = read_model.page("ann", PageRequest(size=2))
    assert [row.order_id for row in page.rows] == [third, second]
    assert page.rows[1] == OrderSummary(
        order_id=second,
        customer_id="ann",
        status=OrderStatus.PAID,
        total=Money.of("29.00 EUR"),
    )
    assert page.total == 3
    rest = read_model.page("ann", PageRequest(number=2, size=2))
    assert [row.order_id for row in rest.rows] == [first]


def test_the_list_mends_itself_when_it_is_told_of_an_order(container: punq.Container) -> None:
    orders: OrderService = container.resolve(OrderService)
    read_model: IOrderList = container.resolve(IOrderList)
    order_id = orders.place(PlaceOrder(customer_id="ann", items=(TEACUP,)))
    outbox_of(container, order_id)
    [row] = listed(container, "ann")
    engine: sa.Engine = container.resolve(sa.Engine)
    with engine.begin() as connection:
        connection.execute(sa.delete(order_list))
        connection.execute(
            sa.insert(order_list).values(version=1, **attrs.asdict(A_GHOST, recurse=False))
        )

    read_model.resynchronize(order_id)
    read_model.resynchronize(A_GHOST.order_id)
    read_model.resynchronize(order_id)

    assert listed(container, "ann") == [row]


def test_a_url_of_no_broker_is_refused() -> None:
    settings = Settings(database_url="sqlite://", broker_url="carrier-pigeon://roof")

    with pytest.raises(ConfigurationError, match="'carrier-pigeon://'"):
        an_event_manager(settings, a_serializer())


def test_where_no_broker_is_set_the_subscribers_are_in_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("SHOP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SHOP_DATABASE_URL", "sqlite:///with:secret@nowhere.db")

    settings = Settings.from_environment()

    assert settings.broker_url is None
    assert "secret" not in repr(settings)


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
        env=os.environ | {"SHOP_DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert [status for _, _, status in outbox_of(container, order_id)] == ["SENT"] * 2
    assert packed(container) == {order_id}
    container.resolve(sa.Engine).dispose()
