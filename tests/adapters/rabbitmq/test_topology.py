"""Exchanges and queues: declared, checked, or somebody else's affair."""

import contextlib
import datetime as dt
import time
from collections.abc import Iterator

import amqp
import pytest

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_rabbitmq import RabbitMqEventManager, RabbitMqStartError, TopologyMode
from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.connector import Connector
from pragmatic_ddd_rabbitmq.errors import LinkLostError
from pragmatic_ddd_rabbitmq.group_preparation import GroupPreparation
from pragmatic_ddd_rabbitmq.topology import Binding, GroupTopology
from tests import servers
from tests.adapters.rabbitmq.shop import (
    OrderPaid,
    a_config,
    an_event_manager,
    an_order_paid,
    stored,
)
from tests.adapters.rabbitmq.space import Space
from tests.adapters.rabbitmq.waiting import wait_until

pytestmark = pytest.mark.service("rabbitmq")


@contextlib.contextmanager
def a_consumer(space: Space, **changes: object) -> Iterator[tuple[RabbitMqEventManager, list[int]]]:
    handled: list[int] = []
    events = an_event_manager(space.exchange, consumer_group=space.group, **changes)
    events.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    with events:
        yield events, handled


def is_refused(space: Space, queue: str, **arguments: object) -> bool:
    """Say whether a queue is there with other arguments than these."""
    try:
        space.client.queue(queue, **arguments)
    except amqp.PreconditionFailed:
        return True
    return False


def test_a_group_s_queue_is_a_quorum_queue_with_one_active_consumer(space: Space) -> None:
    with a_consumer(space):
        pass

    assert not is_refused(
        space,
        space.group,
        queue_type="quorum",
        single_active_consumer=True,
        overflow="reject-publish",
        dead_letter_exchange=f"{space.group}-dead-letter",
        dead_letter_strategy="at-least-once",
    )
    assert not is_refused(
        space, f"{space.group}-dead-letter", queue_type="quorum", overflow="reject-publish"
    )


def test_a_weaker_queue_has_to_be_chosen_by_name(space: Space) -> None:
    with a_consumer(space, durability="classic"):
        pass

    assert is_refused(space, space.group, queue_type="quorum")
    assert not is_refused(
        space,
        space.group,
        queue_type="classic",
        single_active_consumer=True,
        overflow="reject-publish",
        dead_letter_exchange=f"{space.group}-dead-letter",
    )


def test_what_is_there_and_different_stops_the_start(space: Space) -> None:
    with a_consumer(space, durability="classic"):
        pass

    with pytest.raises(RabbitMqStartError, match=r"PRECONDITION_FAILED.*is different") as caught:
        a_consumer(space, durability="quorum").__enter__()
    assert space.group in str(caught.value)
    assert caught.value.retryable


def test_a_start_that_failed_may_be_repeated(space: Space) -> None:
    with a_consumer(space, durability="classic"):
        pass
    handled: list[int] = []
    events = an_event_manager(space.exchange, consumer_group=space.group)
    events.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    with pytest.raises(RabbitMqStartError):
        events.start()

    space.client.delete([space.group, f"{space.group}-dead-letter"], [])
    with events:
        events.publish(an_order_paid(7))
        wait_until(lambda: handled == [7])


def test_a_checked_topology_has_to_be_there(space: Space) -> None:
    delay = dt.timedelta(seconds=1)
    with pytest.raises(RabbitMqStartError, match=r"NOT_FOUND.*rabbitmq\.topology = declare"):
        a_consumer(space, topology=TopologyMode.CHECK, delay=delay).__enter__()
    with a_consumer(space, delay=delay):
        pass

    with a_consumer(space, topology=TopologyMode.CHECK, delay=delay) as (events, handled):
        events.publish(an_order_paid(7))
        wait_until(lambda: handled == [7])


def test_a_trusted_topology_is_not_looked_at_and_the_broker_may_come_later(space: Space) -> None:
    with a_consumer(space):
        pass
    with a_consumer(space, topology=TopologyMode.TRUST) as (events, handled):
        events.publish(an_order_paid(7))
        wait_until(lambda: handled == [7])

    with a_consumer(space, topology=TopologyMode.TRUST, url="amqp://127.0.0.1:1"):
        pass


@pytest.mark.parametrize("topology", [TopologyMode.DECLARE, TopologyMode.CHECK])
def test_without_a_broker_nobody_can_begin_to_consume(topology: TopologyMode, space: Space) -> None:
    with pytest.raises(RabbitMqStartError, match=r"127\.0\.0\.1:1") as caught:
        a_consumer(space, topology=topology, url="amqp://127.0.0.1:1").__enter__()
    assert caught.value.retryable


def test_who_may_not_declare_is_told_what_to_do(space: Space) -> None:
    url = servers.rabbitmq_url().replace("guest:guest", "restricted:restricted")

    with pytest.raises(RabbitMqStartError, match=r"ACCESS_REFUSED.*set rabbitmq\.topology"):
        a_consumer(space, url=url).__enter__()


def test_another_number_of_queues_is_refused_as_long_as_the_old_ones_are_there(
    space: Space,
) -> None:
    with a_consumer(space, queues=3):
        pass
    for queues in (1, 2):
        with pytest.raises(RabbitMqStartError, match=r"another number of queues"):
            a_consumer(space, queues=queues).__enter__()

    space.client.delete([f"{space.group}-{number}" for number in (1, 2, 3)], [space.group])
    with a_consumer(space, queues=1):
        pass
    with pytest.raises(RabbitMqStartError, match=r"another number of queues"):
        a_consumer(space, queues=3).__enter__()


def test_subscribers_need_a_group(space: Space) -> None:
    events = an_event_manager(space.exchange)
    events.register_subscriber("stock", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=r"rabbitmq\.consumer-group"):
        events.start()


def test_an_old_broker_is_refused_for_quorum_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too old takes the arguments of such a queue, and makes a classic one."""
    monkeypatch.setattr(BrokerLink, "server_version", (3, 7, 28))
    preparation = GroupPreparation(topology=a_group("quorum"), mode=TopologyMode.DECLARE)
    link = a_link()

    with pytest.raises(LinkLostError, match=r"3\.7\.28 has no quorum queues.*classic"):
        preparation.prepare(link, 0.0)
    assert link.failure is not None


def test_the_broker_says_its_version() -> None:
    link = a_link()
    try:
        assert link.server_version >= (3, 8)
    finally:
        link.transport.abort()


def a_group(queue_type: str) -> GroupTopology:
    return GroupTopology(
        group="unused",
        bindings=[Binding("unused", "shop.order.paid")],
        queue_count=1,
        queue_type=queue_type,
        delay=dt.timedelta(),
    )


def a_link() -> BrokerLink:
    return Connector.of(a_config()).connect("test", time.monotonic() + 5)


def test_stored_events_reach_every_queue_that_is_bound(space: Space) -> None:
    with a_consumer(space, queues=2) as (events, handled):
        for number in range(20):
            events.publish_stored(stored(an_order_paid(number, of=f"order-{number}")))
        wait_until(lambda: len(handled) == 20)
    assert sorted(handled) == list(range(20))
