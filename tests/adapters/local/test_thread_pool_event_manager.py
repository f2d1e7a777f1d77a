import datetime as dt
import gc
import logging
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.errors import BrokerUnavailableError, ConfigurationError, EventPublishError
from pragmatic_ddd.ports import Delivery, PublishPath
from pragmatic_ddd_local import (
    CountingMetrics,
    LocalEventManagerConfig,
    ThreadPoolEventManager,
)
from tests.adapters.local.shop import (
    A_WHILE,
    OrderPaid,
    a_payment,
    a_serializer,
    a_stored,
    failing,
)

AT_ONCE = dt.timedelta()
AN_HOUR = dt.timedelta(hours=1)


def a_manager(
    metrics: CountingMetrics | None = None,
    *,
    workers: int = 2,
    retries: int = 3,
    retry_delay: dt.timedelta = AT_ONCE,
    delay: dt.timedelta = AT_ONCE,
    shutdown_timeout: dt.timedelta = A_WHILE,
) -> ThreadPoolEventManager:
    config = LocalEventManagerConfig(
        workers=workers,
        retries=retries,
        retry_delay=retry_delay,
        delay=delay,
        shutdown_timeout=shutdown_timeout,
    )
    return ThreadPoolEventManager(a_serializer(), config, metrics or CountingMetrics())


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]


def test_a_failed_subscriber_is_called_again() -> None:
    metrics = CountingMetrics()
    manager = a_manager(metrics)
    done: list[str] = []
    manager.register_subscriber(
        "mail", OrderPaid, failing(3, LookupError("away"), lambda: done.append("mail"))
    )
    manager.register_subscriber("log", OrderPaid, lambda _: done.append("log"), depends_on=["mail"])

    with manager:
        manager.publish(a_payment())
        assert manager.wait_until_idle(A_WHILE)

    assert done == ["mail", "log"]
    assert metrics.count("consume_failed", subscriber="mail", final=False) == 3
    assert metrics.count("consume_failed", final=True) == 0
    assert metrics.count("published", path=PublishPath.DIRECT) == 1


def test_a_subscriber_that_always_fails_is_given_up_with_one_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = CountingMetrics()
    manager = a_manager(metrics)
    event = a_payment()
    manager.register_subscriber("mail", OrderPaid, failing(99, LookupError("away"), list))
    manager.register_subscriber("log", OrderPaid, lambda _: None, depends_on=["mail"])
    manager.register_subscriber("stock", OrderPaid, lambda _: None)

    with manager:
        manager.publish(event)
        assert manager.wait_until_idle(A_WHILE)

    [error] = errors(caplog)
    assert event.event_id in error
    assert "mail failed 4 times" in error
    assert "not called after it: log" in error
    assert "LookupError: away" in caplog.text
    assert metrics.count("consume_failed", subscriber="mail", final=True) == 1
    assert metrics.count("consumed", subscriber="log") == 0
    assert metrics.count("consumed", subscriber="stock") == 1


def test_a_retry_waits() -> None:
    manager = a_manager(retry_delay=AN_HOUR)
    calls: list[str] = []
    manager.register_subscriber(
        "mail", OrderPaid, failing(1, LookupError(), lambda: calls.append("mail"))
    )

    with manager:
        manager.publish(a_payment())
        assert not manager.wait_until_idle(dt.timedelta(milliseconds=50))
        assert calls == []

    assert calls == ["mail"]


def test_a_stored_message_is_confirmed_only_when_its_roots_have_succeeded() -> None:
    manager = a_manager()
    done: list[str] = []
    manager.register_subscriber(
        "stock", OrderPaid, failing(1, LookupError("away"), lambda: done.append("stock"))
    )
    manager.register_subscriber(
        "log", OrderPaid, lambda _: done.append("log"), depends_on=["stock"]
    )
    manager.register_subscriber(
        "later", OrderPaid, lambda _: done.append("later"), delivery=Delivery.DELAYED
    )
    message = a_stored(a_payment())

    with manager:
        with pytest.raises(EventPublishError, match="away"):
            manager.publish_stored(message)
        assert manager.wait_until_idle(A_WHILE)
        assert done == []

        receipt = manager.publish_stored(message)
        assert done[0] == "stock"
        assert receipt.text == "in-process: stock: succeeded"
        assert manager.wait_until_idle(A_WHILE)

    assert sorted(done) == ["later", "log", "stock"]


def test_root_subscribers_of_stored_messages_run_in_the_callers_thread() -> None:
    manager = a_manager()
    threads: dict[str, str] = {}

    def note(code: str) -> None:
        threads[code] = threading.current_thread().name

    manager.register_subscriber("stock", OrderPaid, lambda _: note("stock"))
    manager.register_subscriber("log", OrderPaid, lambda _: note("log"), depends_on=["stock"])

    with manager:
        manager.publish_stored(a_stored(a_payment()))
        assert manager.wait_until_idle(A_WHILE)

    assert threads["stock"] == threading.current_thread().name
    assert threads["log"].startswith("events-")


def test_a_failed_successor_does_not_fail_a_stored_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = a_manager(retries=0)
    manager.register_subscriber("stock", OrderPaid, lambda _: None)
    manager.register_subscriber(
        "log", OrderPaid, failing(1, LookupError("away"), list), depends_on=["stock"]
    )

    with manager:
        manager.publish_stored(a_stored(a_payment()))
        assert manager.wait_until_idle(A_WHILE)

    assert len(errors(caplog)) == 1


def test_a_delayed_subscriber_waits_for_its_time() -> None:
    manager = a_manager(delay=AN_HOUR)
    done: list[str] = []
    manager.register_subscriber(
        "later", OrderPaid, lambda _: done.append("later"), delivery=Delivery.DELAYED
    )
    manager.register_subscriber(
        "after", OrderPaid, lambda _: done.append("after"), depends_on=["later"]
    )

    with manager:
        manager.publish(a_payment())
        assert not manager.wait_until_idle(dt.timedelta(milliseconds=50))
        assert done == []

    assert done == ["later", "after"]


def test_shutdown_waits_no_longer_than_it_may(caplog: pytest.LogCaptureFixture) -> None:
    manager = a_manager(workers=1, shutdown_timeout=dt.timedelta(milliseconds=50))
    gate, started = threading.Event(), threading.Event()
    event = a_payment()

    def hang(_: OrderPaid) -> None:
        started.set()
        gate.wait(30)

    manager.register_subscriber("mail", OrderPaid, hang)
    manager.start()
    manager.publish(event)
    assert started.wait(10)

    manager.shutdown()
    gate.set()

    [error] = errors(caplog)
    assert f"1 calls not finished: mail of shop.order.paid {event.event_id}" in error


def test_a_burst_is_handled_by_whoever_publishes() -> None:
    config = LocalEventManagerConfig(workers=1, queue_size=2)
    manager = ThreadPoolEventManager(a_serializer(), config)
    handled: list[int] = []
    manager.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))

    with manager:
        for number in range(500):
            manager.publish(a_payment(number))
        assert manager.wait_until_idle(A_WHILE)

    assert sorted(handled) == list(range(500))


@contextmanager
def a_child() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_refuses_and_shuts_down_at_once() -> None:
    manager = a_manager()
    handled: list[int] = []
    manager.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    message = a_stored(a_payment(7))

    with manager, a_child() as (reading, writing):
        child = os.fork()
        if child == 0:
            answer = "published"
            try:
                manager.publish_stored(message)
            except BrokerUnavailableError as error:
                answer = error.reason
            manager.shutdown()
            os.write(writing, answer.encode())
            os._exit(0)
        os.waitpid(child, 0)

        assert "forked" in os.read(reading, 1000).decode()
        manager.publish_stored(message)

    assert handled == [7]


def test_what_waits_when_the_interpreter_ends_is_still_done() -> None:
    program = """
from pragmatic_ddd.ports import Delivery
from tests.adapters.local.shop import OrderPaid, a_payment
from tests.adapters.local.test_thread_pool_event_manager import AN_HOUR, a_manager

manager = a_manager(delay=AN_HOUR)
manager.register_subscriber(
    "later", OrderPaid, lambda event: print(event.total), delivery=Delivery.DELAYED
)
manager.start()
manager.publish(a_payment(7))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert (ended.stdout, ended.stderr) == ("7\n", "")


def test_it_is_not_kept_alive_for_the_end_of_the_interpreter() -> None:
    manager = a_manager()
    manager.start()
    manager.shutdown()
    forgotten = weakref.ref(manager)

    del manager
    gc.collect()

    assert forgotten() is None


def test_settings_are_bound_and_checked() -> None:
    settings = {
        "event.local.workers": "8",
        "event.local.queue-size": "50",
        "event.local.retries": "0",
        "event.local.retry-delay": "250ms",
        "event.local.delay": "PT2M",
    }
    config = LocalEventManagerConfig.bind(MappingConfigurationSource(settings))
    assert (config.workers, config.queue_size, config.retries) == (8, 50, 0)
    assert config.retry_delay == dt.timedelta(milliseconds=250)
    assert config.delay == dt.timedelta(minutes=2)

    wrong = {"event.local.workers": "0", "event.local.retry-delay": "soon"}
    with pytest.raises(ConfigurationError) as refusal:
        LocalEventManagerConfig.bind(MappingConfigurationSource(wrong))
    assert len(refusal.value.problems) == 2


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = LocalEventManagerConfig()

    assert (config.workers, config.queue_size, config.retries) == (4, 1000, 3)
    assert config.retry_delay == dt.timedelta(seconds=1.5)
    manager = ThreadPoolEventManager(a_serializer(), config)
    assert (manager.side_by_side, manager.longest_call) == (4, config.longest_call)
