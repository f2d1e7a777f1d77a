"""A broker that is killed, frozen, stopped, or out of memory: one of these tests' own."""

import contextlib
import datetime as dt
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_rabbitmq import RabbitMqEventManager
from tests.adapters.rabbitmq.shop import (
    OrderPaid,
    a_stored_event,
    an_event_manager,
    an_order_paid,
    stored,
)
from tests.adapters.rabbitmq.space import Space, a_space
from tests.adapters.rabbitmq.waiting import wait_until
from tests.services.disposable import disposable
from tests.services.service import Service

pytestmark = [pytest.mark.service("rabbitmq"), pytest.mark.timeout(300)]

_CONTROL = "/usr/lib/rabbitmq/bin/rabbitmqctl"
_TIMEOUTS = {
    "connect_timeout": dt.timedelta(seconds=2),
    "confirm_timeout": dt.timedelta(seconds=1),
    "heartbeat": dt.timedelta(seconds=60),
}
_MARGIN_SECONDS = 1.0  # for a busy machine


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with disposable("rabbitmq", tmp_path_factory.mktemp("broker") / "rabbitmq") as broker:
        yield broker


@pytest.fixture
def own_space(own_broker: Service) -> Iterator[Space]:
    own_broker.start()
    with a_space(own_broker.url) as space:
        space.keep_everything()
        yield space
        own_broker.start()
        space.client.reconnect()


@pytest.fixture
def publisher(own_broker: Service, own_space: Space) -> Iterator[RabbitMqEventManager]:
    with an_event_manager(own_space.exchange, url=own_broker.url, **_TIMEOUTS) as events:
        yield events


@contextlib.contextmanager
def frozen(broker: Service) -> Iterator[None]:
    process = broker.process
    assert process is not None
    process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send(signal.SIGCONT)


@contextlib.contextmanager
def out_of_memory(broker: Service) -> Iterator[None]:
    _control(broker, "set_vm_memory_high_watermark", "0.000001")
    try:
        yield
    finally:
        _control(broker, "set_vm_memory_high_watermark", "0.4")


@contextlib.contextmanager
def out_of_disk(broker: Service) -> Iterator[None]:
    _control(broker, "set_disk_free_limit", "1000000GB")
    try:
        yield
    finally:
        _control(broker, "set_disk_free_limit", "50MB")


def _control(broker: Service, *arguments: str) -> None:
    environment = {**os.environ, **broker.server.environment()}
    subprocess.run(
        [_CONTROL, "-q", *arguments], env=environment, check=True, capture_output=True, timeout=60
    )


def fails_in_time(events: RabbitMqEventManager, message: OutboxMessage) -> Exception:
    begun = time.monotonic()
    (answer,) = events.publish_many([message])
    assert time.monotonic() - begun < events.longest_call.total_seconds() + _MARGIN_SECONDS
    assert type(answer) in {BrokerUnavailableError, EventUnconfirmedError}
    assert isinstance(answer, Exception)
    return answer


def is_published(events: RabbitMqEventManager, message: OutboxMessage) -> bool:
    return isinstance(events.publish_many([message])[0], Receipt)


def ids(space: Space) -> list[str]:
    return [found.properties["message_id"] for found in space.client.messages(space.everything)]


def are_written_down(broker: Service, *queues: str) -> bool:
    """Say whether quorum queues would come back: their node writes their names down late."""
    names = [f"%2F_{queue}".encode() for queue in queues]
    written = b"".join(file.read_bytes() for file in _files_of_names(broker))
    return all(bytes((len(name),)) + name in written for name in names)


def _files_of_names(broker: Service) -> list[Path]:
    return list(broker.folder.glob("data/*/quorum/*/names.dets"))


def test_a_broker_that_is_killed_loses_nothing_that_was_confirmed(
    own_broker: Service, own_space: Space, publisher: RabbitMqEventManager
) -> None:
    confirmed: list[str] = []
    stop = threading.Event()

    def publish() -> None:
        while not stop.is_set():
            messages = [a_stored_event(aggregate_id=f"order-{number}") for number in range(20)]
            answers = publisher.publish_many(messages)
            confirmed.extend(
                message.message_id
                for message, answer in zip(messages, answers, strict=True)
                if isinstance(answer, Receipt)
            )
            if len(confirmed) > 400 and not isinstance(answers[0], Receipt):
                return

    thread = threading.Thread(target=publish)
    thread.start()
    wait_until(lambda: len(confirmed) > 400)
    own_broker.kill()
    thread.join(30)
    stop.set()
    assert isinstance(fails_in_time(publisher, a_stored_event()), BrokerUnavailableError)

    own_broker.start()
    wait_until(lambda: is_published(publisher, a_stored_event()))
    own_space.client.reconnect()
    assert set(confirmed) <= set(ids(own_space))


def test_after_a_restart_the_first_event_goes_out_at_once(
    own_broker: Service, own_space: Space, publisher: RabbitMqEventManager
) -> None:
    publisher.publish_stored(a_stored_event())

    own_broker.stop()
    own_broker.start()

    assert publisher.publish_stored(a_stored_event()).text
    own_space.client.reconnect()


def test_a_frozen_broker_holds_a_call_no_longer_than_it_may_and_doubles_nothing(
    own_broker: Service, own_space: Space, publisher: RabbitMqEventManager
) -> None:
    publisher.publish_stored(a_stored_event())
    messages = [a_stored_event(), a_stored_event()]
    with frozen(own_broker):
        kinds = [type(fails_in_time(publisher, messages[0])) for _ in range(3)]
    assert kinds == [EventUnconfirmedError, BrokerUnavailableError, BrokerUnavailableError]

    for message in messages:
        wait_until(lambda message=message: is_published(publisher, message), within=90)  # type: ignore[misc]

    assert ids(own_space)[1:] == [message.message_id for message in messages]


def test_a_broker_that_is_frozen_before_anybody_connects_holds_up_nobody_for_longer(
    own_broker: Service, own_space: Space
) -> None:
    with (
        an_event_manager(own_space.exchange, url=own_broker.url, **_TIMEOUTS) as events,
        frozen(own_broker),
    ):
        answers: list[Exception] = []
        begun = time.monotonic()
        threads = [
            threading.Thread(target=lambda: answers.append(fails_in_time(events, a_stored_event())))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {type(answer) for answer in answers} == {BrokerUnavailableError}
    assert len(answers) == 6
    assert time.monotonic() - begun < events.longest_call.total_seconds() + _MARGIN_SECONDS


@pytest.mark.parametrize("shortage", [out_of_memory, out_of_disk])
def test_a_broker_without_memory_or_disk_takes_nothing_and_gets_nothing_twice(
    own_broker: Service,
    own_space: Space,
    publisher: RabbitMqEventManager,
    shortage: Callable[[Service], contextlib.AbstractContextManager[None]],
) -> None:
    publisher.publish_stored(a_stored_event())
    first, second = a_stored_event(), a_stored_event()
    with shortage(own_broker):
        reasons = [str(fails_in_time(publisher, first)) for _ in range(4)]
    assert "takes no messages now" in reasons[0]
    assert all("takes no messages now" in reason for reason in reasons)

    for message in (first, second):
        wait_until(lambda message=message: is_published(publisher, message), within=90)  # type: ignore[misc]

    assert ids(own_space)[1:] == [first.message_id, second.message_id]


def test_a_message_above_the_broker_s_own_limit_is_refused_alone(
    own_broker: Service, own_space: Space
) -> None:
    _control(own_broker, "eval", "application:set_env(rabbit, max_message_size, 100000).")
    messages = [a_stored_event(aggregate_id=f"order-{number}") for number in range(9)]
    messages[4] = attrs.evolve(messages[4], payload=b'{"note": "' + b"x" * 200_000 + b'"}')
    with an_event_manager(own_space.exchange, url=own_broker.url, **_TIMEOUTS) as events:
        answers = list(events.publish_many(messages))
    _control(own_broker, "eval", "application:set_env(rabbit, max_message_size, 134217728).")

    refused = answers.pop(4)
    assert isinstance(refused, EventRejectedError)
    assert "larger than configured max size" in str(refused)
    assert all(isinstance(answer, Receipt) for answer in answers)
    expected = {message.message_id for message in messages} - {messages[4].message_id}
    assert set(ids(own_space)) == expected


@pytest.mark.parametrize("heartbeat_seconds", [1, 60])
def test_a_broker_that_is_frozen_while_it_is_consumed_from_brings_every_event_in_order(
    own_broker: Service,
    own_space: Space,
    publisher: RabbitMqEventManager,
    heartbeat_seconds: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With short heartbeats the connection is given up, and what was in hand comes again."""
    handled: list[int] = []
    gate = threading.Event()

    def handle(event: OrderPaid) -> None:
        assert gate.wait(60)
        handled.append(event.total)

    settings = {**_TIMEOUTS, "heartbeat": dt.timedelta(seconds=heartbeat_seconds)}
    consumer = an_event_manager(
        own_space.exchange, url=own_broker.url, consumer_group=own_space.group, **settings
    )
    consumer.register_subscriber("stock", OrderPaid, handle)
    with consumer:
        for number in range(20):
            publisher.publish_stored(stored(an_order_paid(number)))
        with frozen(own_broker):
            gate.set()
            wait_until(lambda: bool(handled))
            if heartbeat_seconds == 1:
                wait_until(lambda: "has been silent" in caplog.text)
        publisher.publish_stored(stored(an_order_paid(20)))
        wait_until(lambda: 20 in handled, lambda: handled, within=60)

    assert list(dict.fromkeys(handled)) == list(range(21))


def test_consuming_goes_on_after_a_restart_and_handles_every_event(
    own_broker: Service, own_space: Space, publisher: RabbitMqEventManager
) -> None:
    handled: list[int] = []
    consumer = an_event_manager(
        own_space.exchange, url=own_broker.url, consumer_group=own_space.group, **_TIMEOUTS
    )
    consumer.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    with consumer:
        for number in range(50):
            publisher.publish_stored(stored(an_order_paid(number)))
        queues = own_space.group, f"{own_space.group}-dead-letter"
        wait_until(lambda: are_written_down(own_broker, *queues))
        own_broker.kill()
        own_broker.start()
        for number in range(50, 60):
            message = stored(an_order_paid(number))
            wait_until(lambda message=message: is_published(publisher, message), within=90)  # type: ignore[misc]

        wait_until(lambda: 59 in handled, lambda: handled, within=40)
    assert list(dict.fromkeys(handled)) == list(range(60))
    own_space.client.reconnect()


def test_a_queue_that_its_node_has_forgotten_goes_on_once_it_has_a_leader(
    own_broker: Service, own_space: Space, publisher: RabbitMqEventManager
) -> None:
    """As after the loss of a node that had not written the name of a new queue down yet."""
    handled: list[int] = []
    consumer = an_event_manager(
        own_space.exchange, url=own_broker.url, consumer_group=own_space.group, **_TIMEOUTS
    )
    consumer.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    queues = own_space.group, f"{own_space.group}-dead-letter"
    first, second = (stored(an_order_paid(number)) for number in (1, 2))
    with consumer:
        wait_until(lambda: are_written_down(own_broker, *queues))
        own_broker.kill()
        for file in _files_of_names(own_broker):
            file.unlink()
        own_broker.start()
        assert isinstance(fails_in_time(publisher, first), EventUnconfirmedError)

        for queue in queues:
            _control(own_broker, "eval", f"ra:trigger_election({{'%2F_{queue}', node()}}).")
        for message in (first, second):
            wait_until(lambda message=message: is_published(publisher, message), within=90)  # type: ignore[misc]
        wait_until(lambda: 2 in handled, lambda: handled, within=40)
    assert list(dict.fromkeys(handled)) == [1, 2]
    own_space.client.reconnect()
