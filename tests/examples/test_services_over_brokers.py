"""The order service and its listeners, and the shipping service, as processes over each broker."""

import os
import secrets
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.acceptance.brokers.catalogue import broker
from tests.services.disposable import disposable

TOPIC = "shop-orders"
PATIENCE_SECONDS = 120
EVERY_BROKER = [
    pytest.param("rocketmq", marks=pytest.mark.service("rocketmq")),
    pytest.param("rocketmq_grpc", marks=pytest.mark.service("rocketmq-grpc", "grpc-python")),
    pytest.param("kafka", marks=pytest.mark.service("kafka")),
    pytest.param("rabbitmq", marks=pytest.mark.service("rabbitmq")),
    pytest.param("redis", marks=pytest.mark.service("redis")),
]
_URLS: dict[str, Callable[[], str]] = {
    "rocketmq": lambda: f"rocketmq://{servers.rocketmq_name_server()}",
    "rocketmq_grpc": lambda: f"rocketmq+grpc://{servers.rocketmq_grpc_endpoint()}",
    "kafka": lambda: f"kafka://{servers.kafka_bootstrap()}",
    "rabbitmq": servers.rabbitmq_url,
    "redis": servers.redis_url,
}


class Services:
    """The processes of one test, over one broker."""

    def __init__(self, name: str, folder: Path, url: str | None = None) -> None:
        self.python = str(broker(name).python)
        self.folder = folder
        self.orders, self.shipping = folder / "orders.db", folder / "shipping.db"
        url, group = url or _URLS[name](), secrets.token_hex(4)
        for service in ("shop", "shipping"):
            broker(name).create_group(f"{service}-{group}")
        self.environment = os.environ | {
            "SHOP_DATABASE_URL": f"sqlite:///{self.orders}",
            "SHOP_BROKER_URL": url,
            "SHOP_CONSUMER_GROUP": f"shop-{group}",
            "SHIPPING_DATABASE_URL": f"sqlite:///{self.shipping}",
            "SHIPPING_BROKER_URL": url,
            "SHIPPING_CONSUMER_GROUP": f"shipping-{group}",
            "ROCKETMQ_CLIENT_LOG_DIR": str(folder),
        }
        library = servers.rocketmq_library()
        if library is not None:
            self.environment["PRAGMATIC_DDD_ROCKETMQ_LIBRARY"] = str(library)

    @contextmanager
    def consuming(self, module: str) -> Iterator["subprocess.Popen[str]"]:
        """Run a consumer that says that it listens; it must end well when it is asked to."""
        printed = self.folder / f"{module}.log"
        with printed.open("w") as output:
            process = subprocess.Popen(
                [self.python, "-m", module],
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while "listen" not in printed.read_text():
                assert process.poll() is None, printed.read_text()
                assert time.monotonic() < deadline, printed.read_text()
                time.sleep(0.05)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        assert process.returncode == 0, printed.read_text()

    def trade(self) -> None:
        """Run the shop once: some orders are placed, paid, shipped, cancelled."""
        done = subprocess.run(
            [self.python, "-m", "examples.order_service.shop"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "not yet sent: 0" in done.stdout

    def trade_until(self, consumer: "subprocess.Popen[str]", has_come: Callable[[], bool]) -> None:
        """Trade again and again: who joins a group may begin with what is sent from then on."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not has_come():
            assert time.monotonic() < deadline
            assert consumer.poll() is None
            self.trade()


@pytest.fixture(params=EVERY_BROKER)
def services(request: pytest.FixtureRequest, tmp_path: Path) -> Services:
    broker(request.param).create_topic(TOPIC)
    return Services(request.param, tmp_path)


def test_the_listeners_hear_of_orders_over_a_broker(services: Services) -> None:
    def have_heard() -> bool:
        lists = "warehouse_packing_list", "order_list"
        return all(rows(services.orders, f"SELECT * FROM {name}") for name in lists)

    with services.consuming("examples.order_service.consumer") as consumer:
        services.trade_until(consumer, have_heard)


def test_each_paid_order_becomes_one_shipment(services: Services) -> None:
    def paid() -> set[str]:
        sent = "SELECT aggregate_id FROM outbox_message WHERE event_type = 'shop.order.paid'"
        return {row[0] for row in rows(services.orders, sent)}

    def prepared() -> dict[str, int]:
        return dict(rows(services.shipping, "SELECT id, labels FROM shipment"))

    def have_come() -> bool:
        return bool(paid() & prepared().keys())

    with services.consuming("examples.shipping_service") as consumer:
        services.trade_until(consumer, have_come)

    assert set(prepared().values()) == {1}


@pytest.mark.service("rabbitmq")
def test_started_as_the_page_says_nothing_of_the_shop_is_stuck_on_a_new_rabbitmq(
    tmp_path: Path,
) -> None:
    with disposable("rabbitmq", tmp_path / "rabbitmq") as nobody_has_bound_anything_there:
        services = Services("rabbitmq", tmp_path, nobody_has_bound_anything_there.url)
        with (
            services.consuming("examples.order_service.consumer"),
            services.consuming("examples.shipping_service"),
        ):
            services.trade()

    unsent = "SELECT event_type FROM outbox_message WHERE status <> 'SENT'"
    assert rows(services.orders, unsent) == []


def rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return what a statement finds; nothing while there is no such table yet."""
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute(statement).fetchall()
        except sqlite3.OperationalError:
            return []
