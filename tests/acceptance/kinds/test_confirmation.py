"""Only what confirms is a confirmation: a row is SENT for nothing less."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, cast

import pytest

from pragmatic_ddd.application.outbox import EagerOutboxPublisher, EventEncoding, OutboxRelay
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus, PublishPath, Receipt
from pragmatic_ddd.ports.events import IEventManager
from pragmatic_ddd.testing.faults import ScriptedPublisher, Step, returns
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_local import (
    InMemoryEventManager,
    InMemoryOutboxStore,
    ThreadPoolEventManager,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.databases import OutboxDatabase
from tests.unit.application.outbox.builders import push, seconds

_logger = logging.getLogger(__name__)


class OrderPaid(DomainEvent, name="kinds.order.paid"):
    pass


async def _fails_later() -> None:
    raise ConnectionError("the broker is away")


def _a_failed_future() -> "Future[None]":
    future: Future[None] = Future()
    future.set_exception(ConnectionError("the broker is away"))
    return future


def _a_coroutine() -> Coroutine[Any, Any, None]:
    coroutine = _fails_later()
    coroutine.close()  # nobody will await it; a test must not warn of that
    return coroutine


def _logs_and_returns(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
    try:
        asyncio.run(_fails_later())
    except ConnectionError:
        _logger.info("it did not go out")
    return None  # type: ignore[return-value]  # the mistake


_NO_CONFIRMATIONS: dict[str, Callable[[], Step]] = {
    "a failed future": lambda: returns(_a_failed_future()),
    "a coroutine that raises": lambda: returns(_a_coroutine()),
    "False": lambda: returns(False),
    "True": lambda: returns(True),
    "None": lambda: returns(None),
    "a text": lambda: returns("ok"),
    "an error that is logged and dropped": lambda: _logs_and_returns,
}


@pytest.mark.parametrize("path", [PublishPath.EAGER, PublishPath.RELAY])
@pytest.mark.parametrize("answer", _NO_CONFIRMATIONS)
def test_whatever_is_no_receipt_is_a_failed_attempt(
    database: OutboxDatabase, path: PublishPath, answer: str
) -> None:
    store, publisher = database.store(), ScriptedPublisher()
    publisher.next(_NO_CONFIRMATIONS[answer]())
    if path is PublishPath.EAGER:
        with EagerOutboxPublisher(store=store, publisher=publisher) as eager:
            push(eager, a_message("m1"))
            assert eager.wait_until_idle(seconds(10))
    else:
        store.store([a_message("m1")])
        assert OutboxRelay(store=store, publisher=publisher).run_once().failed == 1

    entry = store.find("m1")

    assert entry is not None
    assert (entry.status, entry.attempts) == (OutboxStatus.PENDING, 1)
    assert "instead of a receipt" in (entry.last_error or "")


_MANAGERS: dict[str, Callable[[OrjsonEventSerializer], IEventManager]] = {
    "in memory": InMemoryEventManager,
    "thread pool": ThreadPoolEventManager,
}


def _a_failed_task() -> object:
    loop = asyncio.new_event_loop()
    task = loop.create_future()
    task.set_exception(ConnectionError("the broker is away"))
    task.exception()  # somebody has looked: no warning
    loop.close()
    return task


def _a_generator() -> Iterator[None]:
    _logger.info("nobody has asked for this")
    yield


async def _an_async_generator() -> AsyncIterator[None]:
    _logger.info("nor for this")
    yield


_LATER: dict[str, Callable[[], object]] = {
    "future": _a_failed_future,
    "task": _a_failed_task,
    "coroutine": _a_coroutine,
    "generator": _a_generator,
    "async generator": _an_async_generator,
}


@pytest.mark.parametrize("result", _LATER)
@pytest.mark.parametrize("kind", _MANAGERS)
def test_a_subscriber_that_leaves_its_work_to_later_has_not_succeeded(
    kind: str, result: str
) -> None:
    serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPaid))
    manager = _MANAGERS[kind](serializer)
    manager.register_subscriber("mail", OrderPaid, lambda _: cast("None", _LATER[result]()))
    store, event = InMemoryOutboxStore(), OrderPaid(aggregate_id="1")
    store.store([EventEncoding(serializer=serializer).encode(event, aggregate_type="kinds.order")])

    with manager:
        done = OutboxRelay(store=store, publisher=manager).run_once()

    entry = store.find(event.event_id)
    assert (done.sent, done.failed) == (0, 1)
    assert entry is not None
    assert entry.status is OutboxStatus.PENDING
    assert "later" in (entry.last_error or "")
