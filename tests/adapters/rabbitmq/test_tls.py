"""Encrypted connections: the broker's certificate is checked, ours is shown."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pragmatic_ddd.errors import BrokerUnavailableError
from tests import servers
from tests.adapters.rabbitmq.shop import (
    OrderPaid,
    a_stored_event,
    an_event_manager,
    an_order_paid,
)
from tests.adapters.rabbitmq.space import Space
from tests.adapters.rabbitmq.tls_front import Certificates, tls_front
from tests.adapters.rabbitmq.waiting import wait_until

pytestmark = [
    pytest.mark.service("rabbitmq"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def of_broker(folder: Path) -> Certificates:
    return Certificates.made(folder, "broker", host="localhost")


@pytest.fixture(scope="module")
def of_client(folder: Path) -> Certificates:
    return Certificates.made(folder, "client", host="shop")


@pytest.fixture
def server() -> tuple[str, int]:
    parts = urlsplit(servers.rabbitmq_url())
    return parts.hostname or "", parts.port or 0


@pytest.fixture
def port(server: tuple[str, int], of_broker: Certificates) -> Iterator[int]:
    with tls_front(server, of_broker) as port:
        yield port


def test_events_go_and_come_encrypted(space: Space, port: int, of_broker: Certificates) -> None:
    handled: list[int] = []
    events = an_event_manager(
        space.exchange,
        url=f"amqps://guest:guest@localhost:{port}/",
        tls_ca_file=of_broker.certificate,
        consumer_group=space.group,
    )
    events.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    with events:
        for number in range(5):
            events.publish(an_order_paid(number))
        large = b'{"note": "' + b"x" * 2_000_000 + b'"}'
        events.publish_stored(a_stored_event(payload=large))
        answers = events.publish_many(
            [a_stored_event(aggregate_id=f"order-{number}") for number in range(300)]
        )
        wait_until(lambda: len(handled) >= 5)
    assert not any(isinstance(answer, Exception) for answer in answers)
    assert handled[:5] == [0, 1, 2, 3, 4]


def test_a_broker_with_an_unknown_certificate_is_not_told_the_password(
    space: Space, port: int
) -> None:
    with (
        an_event_manager(space.exchange, url=f"amqps://guest:guest@localhost:{port}/") as events,
        pytest.raises(BrokerUnavailableError, match="certificate verify failed"),
    ):
        events.publish_stored(a_stored_event())


def test_a_certificate_is_for_its_host(space: Space, port: int, of_broker: Certificates) -> None:
    with (
        an_event_manager(
            space.exchange,
            url=f"amqps://guest:guest@127.0.0.1:{port}/",
            tls_ca_file=of_broker.certificate,
        ) as events,
        pytest.raises(BrokerUnavailableError, match="certificate verify failed"),
    ):
        events.publish_stored(a_stored_event())


def test_our_own_certificate_is_shown_where_it_is_asked_for(
    space: Space, server: tuple[str, int], of_broker: Certificates, of_client: Certificates
) -> None:
    space.keep_everything()
    with tls_front(server, of_broker, clients=of_client.certificate) as port:
        settings = {
            "url": f"amqps://guest:guest@localhost:{port}/",
            "tls_ca_file": of_broker.certificate,
        }
        with (
            an_event_manager(space.exchange, **settings) as events,
            pytest.raises(BrokerUnavailableError),
        ):
            events.publish_stored(a_stored_event())
        with an_event_manager(
            space.exchange,
            tls_certificate_file=of_client.certificate,
            tls_key_file=of_client.key,
            **settings,
        ) as events:
            assert events.publish_stored(a_stored_event()).text


def test_a_broker_that_speaks_no_tls_is_away(space: Space, server: tuple[str, int]) -> None:
    with (
        an_event_manager(
            space.exchange, url=f"amqps://guest:guest@{server[0]}:{server[1]}/"
        ) as events,
        pytest.raises(BrokerUnavailableError),
    ):
        events.publish_stored(a_stored_event())
