"""A proxy that asks for an account: a wrong one is an outage, told in clear words."""

import logging
from collections.abc import Iterator

import pytest

from pragmatic_ddd.errors import BrokerUnavailableError
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcStartError
from tests.adapters.rocketmq_grpc.shop import a_stored_event, a_topic, an_event_manager
from tests.services.port import Port
from tests.services.rocketmq_proxy import RocketMqProxy
from tests.services.service import Service

pytestmark = pytest.mark.service("rocketmq-grpc")

_AUTHENTICATION = {
    "authenticationEnabled": True,
    "authenticationProvider": (
        "org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider"
    ),
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.proxy.auth.ProxyAuthenticationMetadataProvider"
    ),
}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("guarded-proxy")
    server = RocketMqProxy(folder, Port.free(RocketMqProxy.ports_in_a_row), _AUTHENTICATION)
    service = Service(server)
    try:
        service.start()
        yield server.grpc.address
    finally:
        service.kill()


def test_a_wrong_account_is_no_events_fault(
    endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"endpoints": endpoint, "access_key": "nobody", "secret_key": "tiger-in-the-tank"}
    with (
        caplog.at_level(logging.DEBUG),
        an_event_manager(a_topic(), **settings) as manager,
        pytest.raises(BrokerUnavailableError, match=r"look at rocketmq-grpc\.access-key") as caught,
    ):
        manager.publish_stored(a_stored_event())

    assert "tiger-in-the-tank" not in str(caught.value) + caplog.text


def test_no_account_is_refused_at_a_checked_start(endpoint: str) -> None:
    manager = an_event_manager(a_topic(), endpoints=endpoint, check_at_start=True)

    with pytest.raises(RocketMqGrpcStartError, match=r"look at rocketmq-grpc\.access-key"):
        manager.start()
