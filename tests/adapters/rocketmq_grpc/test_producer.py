"""Sending: one attempt each, bounded, many at once, and an end that leaves nobody waiting."""

import datetime as dt
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcStartError
from pragmatic_ddd_rocketmq_grpc.endpoints import Endpoints
from pragmatic_ddd_rocketmq_grpc.errors import (
    NotAvailableError,
    NotConfirmedError,
    RefusedForNowError,
)
from pragmatic_ddd_rocketmq_grpc.producer import Producer, longest_call
from pragmatic_ddd_rocketmq_grpc.sending import SendReceipt
from tests.adapters.rocketmq_grpc.shop import a_connection, a_message, a_topic, unique
from tests.services.admin import MessageType, create_topic
from tests.services.rocketmq_messages import stored_messages
from tests.services.service import Service
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("rocketmq-grpc")

_TIMEOUT = dt.timedelta(seconds=1)
_PATIENCE_SECONDS = 60.0


@contextmanager
def _a_producer(address: str | None = None, *, window: int = 64) -> Iterator[Producer]:
    changes = {} if address is None else {"endpoints": Endpoints.parse(address)}
    producer = Producer(connection=a_connection(timeout=_TIMEOUT, **changes), window=window)
    producer.start()
    try:
        yield producer
    finally:
        producer.close(within=_TIMEOUT)


@contextmanager
def _frozen(proxy: Service) -> Iterator[None]:
    process = proxy.process
    assert process is not None
    process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send(signal.SIGCONT)


def _sent_in_the_end(producer: Producer, topic: str) -> SendReceipt:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return producer.send(a_message(topic=topic))
        except (NotConfirmedError, NotAvailableError, RefusedForNowError):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _address(proxy: Service) -> str:
    return proxy.server.ports[0].address


def test_a_receipt_names_the_message_and_its_place() -> None:
    topic = a_topic()
    with _a_producer() as producer:
        first, second = (producer.send(a_message(topic=topic)) for _ in range(2))

    assert (first.queue_offset, second.queue_offset) == (0, 1)
    stored = stored_messages(topic)
    assert [each.properties["UNIQ_KEY"] for each in stored] == [
        first.message_id,
        second.message_id,
    ]


def test_many_messages_are_under_way_at_once_and_each_has_its_answer() -> None:
    topic = a_topic()
    messages = [a_message(topic=topic, message_group=f"order-{n}", key=f"k{n}") for n in range(300)]
    messages[7] = a_message(topic="not-there")
    with _a_producer(window=50) as producer:
        answers = producer.send_many(messages)

    kinds = [type(answer) for answer in answers]
    assert kinds.pop(7) is RefusedForNowError
    assert kinds == [SendReceipt] * 299
    ids = {each.properties["UNIQ_KEY"]: each.properties["KEYS"] for each in stored_messages(topic)}
    for message, answer in zip(messages, answers, strict=True):
        if isinstance(answer, SendReceipt):
            assert ids[answer.message_id] == message.key


def test_a_send_is_one_attempt_though_the_client_would_repeat_it(proxy: Service) -> None:
    """The proxy stores the message, and the connection breaks before the answer."""
    topic = a_topic()
    with (
        TcpGate(("127.0.0.1", proxy.server.ports[0].number)) as gate,
        _a_producer(f"127.0.0.1:{gate.port}") as producer,
    ):
        _sent_in_the_end(producer, topic)
        with gate.answering(at_most_bytes=0):
            with pytest.raises((NotConfirmedError, NotAvailableError)):
                producer.send(a_message(topic=topic, key="second"))
            _wait_until(lambda: _count_of(topic, "second") > 0)
            # Longer than the client's own repetitions would take.
            _hold(dt.timedelta(seconds=4), lambda: _count_of(topic, "second") == 1)
        _sent_in_the_end(producer, topic)

    assert _count_of(topic, "second") == 1


def test_a_frozen_proxy_holds_no_call_longer_than_the_longest(proxy: Service) -> None:
    topic = a_topic()
    with _a_producer(_address(proxy)) as producer:
        _sent_in_the_end(producer, topic)
        with _frozen(proxy):
            _takes_at_most(longest_call(_TIMEOUT), lambda: _fails(producer, topic))
            messages = [a_message(topic=topic, message_group=str(n)) for n in range(200)]
            begun = time.monotonic()
            answers = producer.send_many(messages)
            assert time.monotonic() - begun < longest_call(_TIMEOUT).total_seconds()
            kinds = {type(answer) for answer in answers}
            assert kinds == {NotConfirmedError, NotAvailableError}  # some were not even sent
        _sent_in_the_end(producer, topic)


def test_a_frozen_proxy_holds_no_first_call_longer_than_the_longest(proxy: Service) -> None:
    """There is no route yet; of several topics only the first ones are asked for."""
    topics = [a_topic() for _ in range(5)]
    with _frozen(proxy), _a_producer(_address(proxy)) as producer:
        begun = time.monotonic()
        answers = producer.send_many([a_message(topic=topic) for topic in topics])
        assert time.monotonic() - begun < longest_call(_TIMEOUT).total_seconds()
        assert {type(answer) for answer in answers} == {NotAvailableError}


def test_a_connection_that_has_failed_for_a_while_is_made_anew(proxy: Service) -> None:
    """gRPC by itself would try again only after two minutes, when the outage was long."""
    topic = a_topic()
    with (
        TcpGate(("127.0.0.1", proxy.server.ports[0].number)) as gate,
        _a_producer(f"127.0.0.1:{gate.port}") as producer,
    ):
        _sent_in_the_end(producer, topic)
        channels = producer._client.rpc_client.channels
        ((address, before),) = channels.items()
        with gate.shut():

            def is_another() -> bool:
                _fails(producer, topic)
                return channels.get(address) is not before

            _wait_until(is_another)

        assert _sent_in_the_end(producer, topic).message_id


def test_each_of_many_threads_has_its_answer_in_time(proxy: Service) -> None:
    topic = a_topic()
    with _a_producer(_address(proxy)) as producer:
        _sent_in_the_end(producer, topic)

        def fail(_: int) -> None:
            _takes_at_most(longest_call(_TIMEOUT), lambda: _fails(producer, topic))

        with _frozen(proxy), ThreadPoolExecutor(16) as threads:
            list(threads.map(fail, range(16)))
        _sent_in_the_end(producer, topic)


def test_a_shutdown_waits_for_what_is_under_way(proxy: Service) -> None:
    topic = a_topic()
    with TcpGate(("127.0.0.1", proxy.server.ports[0].number)) as gate:
        with _a_producer(f"127.0.0.1:{gate.port}") as producer:
            _sent_in_the_end(producer, topic)
            with gate.silent(), ThreadPoolExecutor(2) as threads:
                sending = threads.submit(producer.send, a_message(topic=topic))
                _wait_until(lambda: bool(producer._in_flight))
                closing = threads.submit(producer.close, within=dt.timedelta(seconds=10))
                with pytest.raises(NotConfirmedError):
                    sending.result(_PATIENCE_SECONDS)
                closing.result(_PATIENCE_SECONDS)
        with pytest.raises(NotAvailableError, match="shut down"):
            producer.send(a_message(topic=topic))


def test_what_is_under_way_too_long_is_cut_off_by_a_shutdown(proxy: Service) -> None:
    """Nobody waits for ever: the client itself would leave its futures pending."""
    topic = a_topic()
    with (
        TcpGate(("127.0.0.1", proxy.server.ports[0].number)) as gate,
        _a_producer(f"127.0.0.1:{gate.port}") as producer,
    ):
        _sent_in_the_end(producer, topic)
        with gate.silent(), ThreadPoolExecutor(1) as threads:
            sending = threads.submit(producer.send, a_message(topic=topic))
            _wait_until(lambda: bool(producer._in_flight))
            producer.close(within=dt.timedelta(seconds=0.1))
            with pytest.raises(NotConfirmedError, match="shut down"):
                sending.result(_PATIENCE_SECONDS)


def test_the_client_is_shut_down_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with _a_producer() as producer:
        calls: list[str] = []
        shut_down = producer._client.shutdown

        def noting_shut_down() -> None:
            calls.append("shutdown")
            shut_down()

        monkeypatch.setattr(producer._client, "shutdown", noting_shut_down)
        assert producer.close(within=_TIMEOUT)
        assert producer.close(within=_TIMEOUT)

    assert calls == ["shutdown"]


def test_a_producer_is_started_once() -> None:
    with _a_producer() as producer, pytest.raises(RocketMqGrpcStartError, match="running"):
        producer.start()


def test_one_that_was_never_started_sends_nothing() -> None:
    producer = Producer(connection=a_connection(), window=1)

    with pytest.raises(NotAvailableError, match="not started"):
        producer.send(a_message())
    assert producer.close(within=_TIMEOUT)
    with pytest.raises(NotAvailableError, match="shut down"):
        producer.send(a_message())


def test_a_proxy_that_is_not_there_is_an_outage() -> None:
    topic = a_topic()
    with (
        _a_producer("127.0.0.1:1") as producer,
        pytest.raises(NotAvailableError, match="UNAVAILABLE"),
    ):
        producer.send(a_message(topic=topic))


def test_a_topic_that_is_not_there_is_the_operators_affair_and_told_from_an_outage() -> None:
    with (
        _a_producer() as producer,
        pytest.raises(RefusedForNowError, match=r"TOPIC_NOT_FOUND.*create the topic"),
    ):
        producer.send(a_message(topic=unique("nowhere")))


def test_a_topic_of_another_type_is_the_operators_affair() -> None:
    topic = unique("normal")
    create_topic(topic, 1, message_type=MessageType.NORMAL)
    with (
        _a_producer() as producer,
        pytest.raises(RefusedForNowError, match=r"message\.type=FIFO"),
    ):
        producer.send(a_message(topic=topic))


def test_a_topic_that_comes_into_being_is_sent_to() -> None:
    topic = unique("late")
    with _a_producer() as producer:
        with pytest.raises(RefusedForNowError):
            producer.send(a_message(topic=topic))
        create_topic(topic, 1, message_type=MessageType.FIFO)

        # The proxy remembers for some seconds that there was none.
        assert _sent_in_the_end(producer, topic).message_id


def _count_of(topic: str, key: str) -> int:
    return sum(each.properties["KEYS"] == key for each in stored_messages(topic))


def _fails(producer: Producer, topic: str) -> None:
    with pytest.raises((NotConfirmedError, NotAvailableError)):
        producer.send(a_message(topic=topic, message_group=threading.current_thread().name))


def _takes_at_most(longest: dt.timedelta, work: Callable[[], object]) -> None:
    begun = time.monotonic()
    work()
    assert time.monotonic() - begun < longest.total_seconds()


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _hold(duration: dt.timedelta, is_so: Callable[[], bool]) -> None:
    """See that something stays so: that nothing comes has no other sign than that time passes."""
    deadline = time.monotonic() + duration.total_seconds()
    while time.monotonic() < deadline:
        assert is_so()
        time.sleep(0.05)
