"""The producer, against a real broker; what may end a process is tried in another one."""

import datetime as dt
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pragmatic_ddd_rocketmq.errors import NotConfirmedError, NotSentError, RocketMqStartError
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_library import LOG_FOLDER_VARIABLE
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.outgoing_message import LARGEST_BODY_BYTES
from tests.adapters.rocketmq import child
from tests.adapters.rocketmq.heap import COUNTED, needs_a_counted_heap
from tests.adapters.rocketmq.shop import a_library, a_message, name_servers, unique, warm_up

pytestmark = pytest.mark.service("rocketmq")

A_WHILE = dt.timedelta(seconds=5)


def a_producer(
    servers: NameServers | None = None, *, timeout: dt.timedelta = dt.timedelta(seconds=3)
) -> NativeProducer:
    return NativeProducer(
        library=a_library(),
        name_servers=servers or name_servers(),
        group="shop-producer",
        send_timeout=timeout,
    )


def a_topic(name: str, *producers: NativeProducer) -> str:
    """Return a topic to which the producers know the way."""
    topic = unique(name)
    for producer in producers:
        warm_up(producer, topic)
    return topic


@pytest.fixture
def producer() -> Iterator[NativeProducer]:
    producer = a_producer()
    producer.start()
    warm_up(producer)
    yield producer
    assert producer.close(within=A_WHILE)


def test_a_confirmed_message_has_an_id_and_an_offset(producer: NativeProducer) -> None:
    topic = a_topic("confirmed", producer)

    first = producer.send(a_message(topic=topic))
    second = producer.send(a_message(topic=topic))

    assert first.message_id
    assert first.message_id != second.message_id
    assert second.queue_offset == first.queue_offset + 1


def test_messages_of_one_key_share_a_queue_and_others_spread(producer: NativeProducer) -> None:
    topic = a_topic("spread", producer)

    offsets = [
        producer.send(a_message(topic=topic, sharding_key=f"order-{number % 10}")).queue_offset
        for number in range(100)
    ]

    assert max(offsets) < 99  # more than one queue
    assert len(offsets) == 100


def test_the_largest_body_is_sent_also_when_it_cannot_be_compressed(
    producer: NativeProducer,
) -> None:
    body = os.urandom(LARGEST_BODY_BYTES).replace(b"\0", b"\1")

    assert producer.send(a_message(topic=a_topic("large", producer), body=body)).message_id


def test_the_longest_properties_are_sent(producer: NativeProducer) -> None:
    topic = a_topic("properties", producer)
    message = a_message(topic=topic, properties={"p": "x" * 31_000})

    assert producer.send(message).message_id


def test_many_threads_may_begin_at_once() -> None:
    """Without the first send going alone, most of them fail."""
    producer = a_producer()
    producer.start()
    topic = unique("at-once")
    barrier = threading.Barrier(8)

    def send(number: int) -> bool:
        barrier.wait()
        try:
            producer.send(a_message(topic=topic, sharding_key=f"order-{number}"))
        except NotConfirmedError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        sent = list(threads.map(send, range(8)))

    assert sent.count(True) >= 7  # the client's heartbeat may be in the way of the first
    assert producer.close(within=A_WHILE)


def test_two_producers_of_one_group_live_in_one_process(producer: NativeProducer) -> None:
    other = a_producer()
    other.start()
    topic = a_topic("two", producer, other)

    assert producer.send(a_message(topic=topic)).message_id
    assert other.send(a_message(topic=topic)).message_id
    assert other.close(within=A_WHILE)
    assert producer.send(a_message(topic=topic)).message_id


def test_a_second_start_is_refused(producer: NativeProducer) -> None:
    with pytest.raises(RocketMqStartError, match="running"):
        producer.start()

    assert producer.send(a_message(topic=a_topic("still", producer))).message_id


def test_a_send_before_the_start_is_refused() -> None:
    with pytest.raises(NotSentError, match="not started"):
        a_producer().send(a_message())


def test_a_send_after_the_shutdown_is_refused() -> None:
    producer = a_producer()
    producer.start()
    producer.close(within=A_WHILE)

    with pytest.raises(NotSentError, match="shut down"):
        producer.send(a_message())
    with pytest.raises(RocketMqStartError, match="shut down"):
        producer.start()
    assert producer.close(within=A_WHILE)


def test_what_was_closed_stays_connected_and_is_used_again() -> None:
    """Shutting a producer down may end the process; one more for each start would be too many."""
    result = child.run(
        """
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        def a_running_producer(group="shop"):
            producer = NativeProducer(library=a_library(), name_servers=name_servers(),
                                      group=group, send_timeout=timedelta(seconds=3))
            producer.start()
            warm_up(producer, topic)
            return producer
        def threads():
            return len(os.listdir("/proc/self/task"))
        topic = unique("again")
        producer = a_running_producer()
        running = threads()
        producer.close(within=timedelta(seconds=5))
        before = threads()
        print(running - before <= 1)  # but for its helper's
        for _ in range(20):
            a_running_producer().close(within=timedelta(seconds=5))
        print(threads() - before <= 1)  # a helper's own ends a little later
        one, other = a_running_producer(), a_running_producer()
        print(one._started is other._started, threads() - before > 5)
        one.close(within=timedelta(seconds=5))
        print(a_running_producer("another")._started.settings.group)
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["True", "True", "False", "True", "another"]


def test_a_producer_that_was_never_started_is_closed() -> None:
    producer = a_producer()

    assert producer.close(within=A_WHILE)
    with pytest.raises(NotSentError, match="shut down"):
        producer.send(a_message())


def test_a_start_that_failed_may_be_repeated() -> None:
    producer = a_producer(NameServers.parse("no-such-host.invalid:9876"))
    with pytest.raises(RocketMqStartError, match="no name server"):
        producer.start()

    producer.name_servers = name_servers()
    producer.start()

    assert producer.send(a_message(topic=a_topic("again", producer))).message_id
    assert producer.close(within=A_WHILE)


def test_a_log_folder_that_cannot_be_written_is_named_with_the_setting(tmp_path: Path) -> None:
    """The library writes log files by itself, and does not start where it cannot."""
    file = tmp_path / "file"
    file.touch()
    result = child.run(
        """
        from pragmatic_ddd_rocketmq.native_library import load_native_library
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        producer = NativeProducer(library=load_native_library(a_config().library_path),
                                  name_servers=name_servers(), group="shop",
                                  send_timeout=timedelta(seconds=3))
        for _ in range(2):
            try:
                producer.start()
            except Exception as error:
                print(type(error).__name__, error)
        print(producer.close(within=timedelta(seconds=1)))
        """,
        environment={LOG_FOLDER_VARIABLE: str(file / "logs")},
    )

    assert result.returncode == 0, result.stderr
    if not result.stdout.startswith("True"):  # another build may write elsewhere
        assert "RocketMqStartError" in result.stdout
        assert "rocketmq.log-folder" in result.stdout
    assert result.stdout.endswith("True\n")


def test_without_a_name_server_nothing_is_sent_and_the_reason_says_so() -> None:
    producer = a_producer(NameServers.parse("127.0.0.1:1"))
    producer.start()

    with pytest.raises(NotConfirmedError, match=r"no route .*127\.0\.0\.1:1.*it was not sent"):
        producer.send(a_message())
    assert producer.close(within=A_WHILE)


def test_while_the_first_send_to_a_topic_hangs_others_do_not_wait_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        producer = a_producer(NameServers.parse(f"127.0.0.1:{silent.getsockname()[1]}"))
        producer.start()
        first = threading.Thread(target=lambda: _attempt(producer), daemon=True)
        first.start()
        time.sleep(0.2)

        begun = time.monotonic()
        with pytest.raises(NotSentError, match="first send"):
            producer.send(a_message())
        assert time.monotonic() - begun < 2

        begun = time.monotonic()
        closed = producer.close(within=dt.timedelta(seconds=0.5))
        assert not closed  # the native call cannot be interrupted: bounded, and logged
        assert time.monotonic() - begun < 2
    first.join(60)
    assert not first.is_alive()


def _attempt(producer: NativeProducer) -> None:
    with pytest.raises(NotConfirmedError):
        producer.send(a_message())


def test_closing_waits_for_sends_in_flight() -> None:
    producer = a_producer()
    producer.start()
    topic = a_topic("closing", producer)
    producer.send(a_message(topic=topic))
    outcomes: list[str] = []

    def send_until_refused(number: int) -> None:
        while True:
            try:
                producer.send(a_message(topic=topic, sharding_key=f"order-{number}"))
            except NotSentError:
                outcomes.append("refused")
                return

    threads = [threading.Thread(target=send_until_refused, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    closed = producer.close(within=A_WHILE)
    for thread in threads:
        thread.join(10)

    assert closed
    assert outcomes == ["refused"] * 8


def test_a_topic_that_offers_no_queue_does_not_end_the_process() -> None:
    """The library would read the selected one from an empty list; it takes the default route."""
    result = child.run(
        """
        from tests.services import remoting
        from tests.services.admin import create_topic
        from tests.services.remoting import RequestCode
        from tests.services.rocketmq import broker_port
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        topic = unique("read-only")
        create_topic(topic)
        remoting.request(broker_port(), RequestCode.UPDATE_AND_CREATE_TOPIC, {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": "4",
            "writeQueueNums": "0", "perm": "4", "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0", "order": "false"})
        time.sleep(1)
        producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="shop",
                                  send_timeout=timedelta(seconds=3))
        producer.start()
        try:
            print("stored", producer.send(a_message(topic=topic)))
        except Exception as error:
            print(type(error).__name__, error)
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] in {"stored", "NotConfirmedError"}


@needs_a_counted_heap
def test_memory_stays_flat_over_many_sends() -> None:
    result = child.run(
        """
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        from tests.adapters.rocketmq.heap import allocated_bytes
        producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="shop",
                                  send_timeout=timedelta(seconds=3))
        producer.start()
        topic = unique("memory")
        warm_up(producer, topic)
        body = b"x" * 1000
        def send(count):
            for number in range(count):
                producer.send(a_message(topic=topic, body=body, sharding_key=f"o-{number}",
                                        properties={"tenant": "acme"}))
        def run(count):
            threads = [threading.Thread(target=send, args=(count // 4,)) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        run(2_000)
        before = allocated_bytes()
        run(2_000)
        print(allocated_bytes() - before)
        producer.close(within=timedelta(seconds=5))
        """,
        timeout=90,
        environment=COUNTED,
    )

    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 2_000 * 64  # an undestroyed message would be more than 1 kB


def test_a_signal_handler_that_raises_during_a_send_does_not_end_the_process() -> None:
    """Within the native call only the main thread would run it, in the middle of the selector."""
    result = child.run(
        """
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        class Interrupt(Exception): pass
        def interrupt(*_): raise Interrupt
        producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="shop",
                                  send_timeout=timedelta(seconds=3))
        producer.start()
        topic = unique("signals")
        warm_up(producer, topic)
        producer.send(a_message(topic=topic))
        signal.signal(signal.SIGALRM, interrupt)
        interrupted = 0
        end = time.monotonic() + 4
        while interrupted < 3000 and time.monotonic() < end:
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0002)
                    producer.send(a_message(topic=topic))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                interrupted += 1
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        print("interrupted", interrupted > 10)
        print(producer.close(within=timedelta(seconds=5)))
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["interrupted", "True", "True"]
