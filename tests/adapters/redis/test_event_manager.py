"""The event manager's life: starts, ends, forks, a server that is killed and comes back."""

import datetime as dt
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from pragmatic_ddd.errors import BrokerUnavailableError, ConfigurationError, EventUnconfirmedError
from pragmatic_ddd.ports import Delivery
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls
from pragmatic_ddd_redis import RedisStreamsEventManager
from tests.adapters.redis.shop import (
    OrderPaid,
    a_client,
    a_stored_event,
    an_event_manager,
    entries,
    ids,
    server_address,
    unique,
    url_at,
)
from tests.script import needs_fork, run_script
from tests.services.disposable import disposable
from tests.services.service import Service
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("redis")

_PATIENCE_SECONDS = 30.0
_SHORT = dt.timedelta(milliseconds=500)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Service]:
    """A server that nobody else uses."""
    with disposable("redis", tmp_path / "own") as service:
        yield service


@pytest.fixture
def calls() -> SubscriberCalls:
    return SubscriberCalls()


def a_consumer(url: str, calls: SubscriberCalls, **changes: object) -> RedisStreamsEventManager:
    manager = an_event_manager(
        "shop",
        url=url,
        consumer_group="shop",
        send_timeout=_SHORT,
        lease=dt.timedelta(seconds=1),
        retry_backoff_base=dt.timedelta(milliseconds=50),
        **changes,
    )
    manager.register_subscriber("desk", OrderPaid, lambda event: calls.add("desk", event))
    return manager


def publish_until_confirmed(manager: RedisStreamsEventManager, total: int) -> None:
    """Publish as an outbox does: the same message, until there is a receipt."""
    message = a_stored_event(
        payload=b'{"aggregate_id":"order-1","event_id":"e-%d","total":%d,'
        b'"occurred_at":"2026-01-01T00:00:00Z"}' % (total, total)
    )
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            manager.publish_stored(message)
        except (BrokerUnavailableError, EventUnconfirmedError):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def totals(calls: SubscriberCalls) -> list[int]:
    """Return the totals that a subscriber has had, each at its first time."""
    found = [event.total for _, event in calls.so_far() if isinstance(event, OrderPaid)]
    return list(dict.fromkeys(found))


def test_a_killed_server_comes_back_and_everything_goes_on(
    own: Service, calls: SubscriberCalls
) -> None:
    """Nothing that was confirmed is lost; what was in hand may come twice."""
    with a_consumer(own.url, calls) as manager:
        for total in range(60):
            if total in {20, 40}:
                own.kill()
                with pytest.raises((BrokerUnavailableError, EventUnconfirmedError)):
                    manager.publish_stored(a_stored_event(event_type="nobody.wants"))
                own.start()
            publish_until_confirmed(manager, total)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(totals(calls)) < 60:
            assert time.monotonic() < deadline, totals(calls)
            time.sleep(0.05)

    assert totals(calls) == list(range(60))


def test_a_server_that_comes_back_empty_is_worked_with(
    own: Service, calls: SubscriberCalls
) -> None:
    with a_consumer(own.url, calls) as manager, a_client(own.url) as client:
        publish_until_confirmed(manager, 1)
        calls.wait_for(1, _PATIENCE_SECONDS)

        client.flushall()
        publish_until_confirmed(manager, 2)

        calls.wait_for(2, _PATIENCE_SECONDS)
    assert totals(calls) == [1, 2]


def test_copies_that_are_held_back_outlive_the_server(own: Service, calls: SubscriberCalls) -> None:
    manager = a_consumer(own.url, calls, delay=dt.timedelta(seconds=2))
    manager.register_subscriber(
        "later", OrderPaid, lambda event: calls.add("later", event), delivery=Delivery.DELAYED
    )
    with manager:
        publish_until_confirmed(manager, 1)
        calls.wait_for(1, _PATIENCE_SECONDS)
        own.kill()
        own.start()
        calls.wait_for(2, _PATIENCE_SECONDS)

    assert [code for code, _ in calls.so_far()] == ["desk", "later"]


def test_a_server_that_is_not_there_may_come_later(
    own: Service, calls: SubscriberCalls, caplog: pytest.LogCaptureFixture
) -> None:
    own.kill()
    with caplog.at_level(logging.WARNING), a_consumer(own.url, calls) as manager:
        assert "not ready yet" in caplog.text
        own.start()
        publish_until_confirmed(manager, 1)
        calls.wait_for(1, _PATIENCE_SECONDS)


def test_subscribers_need_a_consumer_group(topic: str) -> None:
    manager = an_event_manager(topic)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=r"redis\.consumer-group"):
        manager.start()


def test_a_group_that_begins_with_what_is_new_does_not_get_what_is_old(
    client: "redis.Redis", topic: str, group: str, calls: SubscriberCalls
) -> None:
    with an_event_manager(topic) as publisher:
        publisher.publish(OrderPaid(aggregate_id="order-1", total=1))
        manager = an_event_manager(topic, consumer_group=group, new_group_starts_at="newest")
        manager.register_subscriber("desk", OrderPaid, lambda event: calls.add("desk", event))
        with manager:
            publisher.publish(OrderPaid(aggregate_id="order-1", total=2))
            calls.wait_for(1, _PATIENCE_SECONDS)
    assert totals(calls) == [2]
    assert len(entries(client, topic)) == 2


def test_a_take_over_that_failed_is_tried_again_before_anything_is_handled(
    client: "redis.Redis",
    topic: str,
    group: str,
    calls: SubscriberCalls,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Else what somebody else has left would be overtaken, and never come."""
    with an_event_manager(topic) as publisher:
        publisher.publish(OrderPaid(aggregate_id="order-1", total=1))
        client.xgroup_create(topic, group, "0")
        client.xreadgroup(group, "somebody", {topic: ">"})
        publisher.publish(OrderPaid(aggregate_id="order-1", total=2))
    account = unique("account")
    host, port = server_address()
    _set_rights(client, account, "-xautoclaim")
    manager = an_event_manager(
        topic, url=f"redis://{account}:secret@{host}:{port}", consumer_group=group
    )
    manager.register_subscriber("desk", OrderPaid, lambda event: calls.add("desk", event))
    try:
        with manager:
            _wait_for_text(caplog, "cannot read")
            _set_rights(client, account)

            calls.wait_for(2, _PATIENCE_SECONDS)
    finally:
        client.acl_deluser(account)
    assert totals(calls) == [1, 2]


def _set_rights(client: "redis.Redis", account: str, *without: str) -> None:
    rights = ("reset", "on", ">secret", "~*", "+@all", *without)
    client.execute_command("ACL", "SETUSER", account, *rights)  # type: ignore[no-untyped-call]


def test_an_entry_that_was_deleted_while_it_was_in_hand_is_reported_and_passed_over(
    client: "redis.Redis",
    gate: TcpGate,
    topic: str,
    group: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server is away when the first is acknowledged, so that all three are read again."""
    calls, go_on = SubscriberCalls(), threading.Event()

    def wait(event: OrderPaid) -> None:
        calls.add("desk", event)
        go_on.wait()

    with an_event_manager(topic) as publisher:
        for total in (1, 2, 3):
            publisher.publish(OrderPaid(aggregate_id="order-1", total=total))
    manager = an_event_manager(topic, url=url_at(gate.port), consumer_group=group)
    manager.register_subscriber("desk", OrderPaid, wait)
    with manager:
        calls.wait_for(1, _PATIENCE_SECONDS)
        with gate.shut():
            client.xdel(topic, ids(client, topic)[1])
            go_on.set()
            _wait_for_text(caplog, "cannot read")
        calls.wait_for(2, _PATIENCE_SECONDS)

    assert totals(calls) == [1, 3]
    assert "was deleted before" in caplog.text


def _wait_for_text(caplog: pytest.LogCaptureFixture, text: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while text not in caplog.text:
        assert time.monotonic() < deadline, caplog.text
        time.sleep(0.02)


@needs_fork
def test_a_forked_child_cannot_use_what_its_parent_has_started() -> None:
    setup = """
    from pragmatic_ddd.errors import BrokerUnavailableError
    from tests.adapters.redis.shop import a_stored_event, an_event_manager, unique
    from tests.forked import exit_codes, in_child

    topic = unique("forked")

    def refuses():
        try:
            manager.publish_stored(a_stored_event())
        except BrokerUnavailableError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("it was published over the parent's connection")
        (answer,) = manager.publish_many([a_stored_event()])
        assert isinstance(answer, BrokerUnavailableError), answer
        manager.shutdown()

    def starts_its_own():
        with an_event_manager(topic) as own:
            assert own.publish_stored(a_stored_event()).text
    """
    body = """
    with an_event_manager(topic) as manager:
        manager.publish_stored(a_stored_event())
        assert exit_codes([in_child(refuses), in_child(starts_its_own)]) == [0, 0]
        assert manager.publish_stored(a_stored_event()).text
        manager._connections.ask("DEL", topic)
    print("well")
    """

    done = run_script(setup, body, timeout_seconds=60)

    assert done.stdout == "well\n", done.stderr


def test_a_manager_leaves_no_threads_and_no_leases_behind(
    client: "redis.Redis", topic: str, group: str, calls: SubscriberCalls
) -> None:
    manager = an_event_manager(topic, consumer_group=group, partitions=3)
    manager.register_subscriber("desk", OrderPaid, lambda event: calls.add("desk", event))
    with manager:
        for number in range(9):
            manager.publish(OrderPaid(aggregate_id=f"order-{number}"))
        calls.wait_for(9, _PATIENCE_SECONDS)
        assert manager._consumer is not None
        workers = manager._consumer.workers

    assert all(worker.has_ended(0.0) for worker in workers)
    assert list(client.scan_iter(f"pragmatic-ddd:{group}:*", count=1000)) == []


def test_a_handler_that_never_ends_does_not_hold_up_the_end(
    topic: str, group: str, calls: SubscriberCalls, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    manager = an_event_manager(topic, consumer_group=group, shutdown_timeout=_SHORT)

    def hang(event: OrderPaid) -> None:
        calls.add("desk", event)
        gate.wait()

    manager.register_subscriber("desk", OrderPaid, hang)
    manager.start()
    try:
        manager.publish(OrderPaid(aggregate_id="order-1"))
        calls.wait_for(1, _PATIENCE_SECONDS)
        begun = time.monotonic()
        manager.shutdown()
        assert time.monotonic() - begun < 5
        assert "still at work" in caplog.text
    finally:
        gate.set()
