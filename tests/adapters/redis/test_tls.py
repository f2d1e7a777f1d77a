"""TLS: the server is who it claims to be, or nothing is sent to it."""

import datetime as dt
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pragmatic_ddd.errors import BrokerUnavailableError
from tests.adapters.redis.shop import OrderPaid, a_client, an_event_manager, entries
from tests.services.disposable import disposable
from tests.services.port import Port

pytestmark = pytest.mark.service("redis")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine that nobody has signed but itself; its key is beside it."""
    certificate = tmp_path_factory.mktemp("tls") / "server.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-out", certificate, "-keyout", certificate.with_suffix(".key")),
        ],
        check=True,
        capture_output=True,
    )
    return certificate


@pytest.fixture
def url(tmp_path: Path, certificate: Path) -> Iterator[str]:
    """The URL of a server that speaks TLS, and of nobody else's."""
    with disposable("redis", tmp_path / "own") as own, a_client(own.url) as client:
        client.config_set("tls-ca-cert-file", str(certificate))
        client.config_set("tls-key-file", str(certificate.with_suffix(".key")))
        client.config_set("tls-cert-file", str(certificate))
        client.config_set("tls-auth-clients", "optional")
        port = Port.free(1).number
        client.config_set("tls-port", str(port))
        yield f"rediss://127.0.0.1:{port}"
        assert len(entries(client, "shop")) <= 1


def test_an_event_travels_over_tls(url: str, certificate: Path) -> None:
    with an_event_manager("shop", url=url, tls_ca_file=str(certificate)) as manager:
        assert manager.publish(OrderPaid(aggregate_id="order-1")).text
        assert manager.longest_call == dt.timedelta(seconds=15)


def test_a_client_may_show_a_certificate_of_its_own(url: str, certificate: Path) -> None:
    own = {"tls_certificate_file": certificate, "tls_key_file": certificate.with_suffix(".key")}
    with an_event_manager(
        "shop",
        url=url,
        tls_ca_file=str(certificate),
        **{name: str(file) for name, file in own.items()},
    ) as manager:
        assert manager.publish(OrderPaid(aggregate_id="order-1")).text


def test_a_server_that_nobody_vouches_for_is_sent_nothing(url: str) -> None:
    with (
        an_event_manager("shop", url=url) as manager,
        pytest.raises(BrokerUnavailableError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        manager.publish(OrderPaid(aggregate_id="order-1"))


def test_a_server_that_is_somebody_else_is_sent_nothing(url: str, certificate: Path) -> None:
    other = url.replace("127.0.0.1", "localhost")
    with (
        an_event_manager("shop", url=other, tls_ca_file=str(certificate)) as manager,
        pytest.raises(BrokerUnavailableError, match=r"(?i)hostname mismatch|certificate"),
    ):
        manager.publish(OrderPaid(aggregate_id="order-1"))
