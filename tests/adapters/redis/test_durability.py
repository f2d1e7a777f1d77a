"""What a receipt is worth: asked for, and refused where the server gives less."""

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import redis

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import Receipt
from pragmatic_ddd_redis import RedisStartError
from tests.adapters.redis.consumer_process import wait_until
from tests.adapters.redis.shop import (
    OrderPaid,
    a_client,
    a_stored_event,
    an_event_manager,
    entries,
    unique,
)
from tests.services.disposable import disposable
from tests.services.port import Port
from tests.services.redis import Redis
from tests.services.service import Service

pytestmark = pytest.mark.service("redis")

_SHORT = dt.timedelta(milliseconds=500)
_WAITAOF_SINCE = (7, 2)


class ClusterServer(Redis):
    """One server of a cluster."""

    def command(self) -> Sequence[str]:
        return [*super().command(), "--cluster-enabled", "yes"]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Service]:
    """A server that nobody else uses."""
    with disposable("redis", tmp_path / "own") as service:
        yield service


@pytest.fixture
def own_client(own: Service) -> Iterator["redis.Redis"]:
    with a_client(own.url) as client:
        yield client


def test_a_server_without_an_append_only_file_is_refused(
    own: Service, own_client: "redis.Redis"
) -> None:
    own_client.config_set("appendonly", "no")

    with pytest.raises(ConfigurationError, match=r"redis\.durability = append-only.*appendonly"):
        an_event_manager("shop", url=own.url).start()


def test_a_server_that_deletes_streams_when_it_is_full_is_refused(
    own: Service, own_client: "redis.Redis"
) -> None:
    own_client.config_set("maxmemory-policy", "allkeys-lru")
    with an_event_manager("shop", url=own.url):
        pass  # it has no bound, so that it is never full
    own_client.config_set("maxmemory", "100mb")

    with pytest.raises(ConfigurationError, match=r"append-only.*maxmemory-policy allkeys-lru"):
        an_event_manager("shop", url=own.url).start()
    own_client.config_set("maxmemory-policy", "noeviction")
    with an_event_manager("shop", url=own.url):
        pass


@pytest.mark.parametrize("durability", ["memory", "append-only"])
def test_a_server_of_a_cluster_is_refused(tmp_path: Path, durability: str) -> None:
    service = Service(ClusterServer(tmp_path, Port.free()))
    try:
        service.start()
        with pytest.raises(ConfigurationError, match="Redis Cluster"):
            an_event_manager("shop", url=service.url, durability=durability).start()
    finally:
        service.kill()


def test_a_weaker_one_is_chosen_by_name(own: Service, own_client: "redis.Redis") -> None:
    own_client.config_set("appendonly", "no")

    with an_event_manager("shop", url=own.url, durability="memory") as manager:
        assert manager.publish(OrderPaid(aggregate_id="order-1")).text
        assert not manager.durability.survives_process_crash
        assert manager.durability.name == "memory"


def test_what_could_not_be_checked_at_the_start_is_checked_before_the_first_event(
    own: Service,
) -> None:
    """No event is sent to a server that would lose it, and none loses an attempt."""
    url = own.url
    own.kill()
    with an_event_manager("shop", url=url, send_timeout=_SHORT) as manager:
        with pytest.raises(BrokerUnavailableError, match="Connect"):
            manager.publish_stored(a_stored_event())
        own.start()
        with a_client(url) as client:
            client.config_set("appendonly", "no")
            with pytest.raises(BrokerUnavailableError, match="no append-only file"):
                manager.publish_stored(a_stored_event())
            assert client.exists("shop") == 0
            client.config_set("appendonly", "yes")
            assert manager.publish_stored(a_stored_event()).text


def test_a_start_may_insist_on_a_server() -> None:
    manager = an_event_manager("shop", url="redis://127.0.0.1:1", check_at_start=True)

    with pytest.raises(RedisStartError, match=r"Redis at 127\.0\.0\.1:1"):
        manager.start()


def test_replicas_are_waited_for(own: Service, own_client: "redis.Redis", tmp_path: Path) -> None:
    topic = unique("events")
    with an_event_manager(topic, url=own.url, replicas=1, send_timeout=_SHORT) as manager:
        with pytest.raises(EventUnconfirmedError, match="0 of 1 replicas"):
            manager.publish_stored(a_stored_event())
        assert manager.durability.survives_node_loss
        with disposable("redis", tmp_path / "replica") as replica:
            (port,) = own.server.ports
            with a_client(replica.url) as client:
                client.replicaof("127.0.0.1", str(port.number))
                messages = [a_stored_event(aggregate_id=f"o-{number}") for number in range(10)]

                def are_confirmed() -> bool:
                    answers = manager.publish_many(messages)
                    return all(isinstance(answer, Receipt) for answer in answers)

                wait_until(are_confirmed, lambda: own_client.info("replication"))
                assert len(entries(client, topic)) >= 11  # on the replica


def test_a_replica_takes_nothing_and_nobody_is_to_blame(own: Service, tmp_path: Path) -> None:
    with disposable("redis", tmp_path / "replica") as replica:
        (port,) = own.server.ports
        with a_client(replica.url) as client:
            client.replicaof("127.0.0.1", str(port.number))
        with (
            an_event_manager("shop", url=replica.url) as manager,
            pytest.raises(BrokerUnavailableError, match="read only"),
        ):
            manager.publish_stored(a_stored_event())


def test_a_full_server_burns_no_attempts(own: Service, own_client: "redis.Redis") -> None:
    with an_event_manager("shop", url=own.url) as manager:
        own_client.config_set("maxmemory", "1")
        own_client.config_set("maxmemory-policy", "noeviction")
        with pytest.raises(BrokerUnavailableError, match="maxmemory"):
            manager.publish_stored(a_stored_event())
        own_client.config_set("maxmemory", "0")
        assert manager.publish_stored(a_stored_event()).text


def test_synced_means_that_the_file_is_on_the_disk(own: Service, own_client: "redis.Redis") -> None:
    """On a server that has no WAITAOF yet the start says what it takes."""
    manager = an_event_manager("shop", url=own.url, durability="synced")
    info = own_client.info("server")
    version = str(info["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < _WAITAOF_SINCE:
        with pytest.raises(ConfigurationError, match=r"7\.2.*WAITAOF"):
            manager.start()
        return
    with manager:
        answers = manager.publish_many(
            [a_stored_event(aggregate_id=f"o-{number}") for number in range(10)]
        )
        assert all("on shop" in getattr(answer, "text", "") for answer in answers)
        assert manager.durability.survives_power_loss
