"""Behind an outbox: only SEND_OK is a confirmation, and every try is the same message.

The native client is the real one and so is the broker; a test changes what the client returns,
because one broker cannot be made to answer all of this.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus
from pragmatic_ddd.ports.outbox_message import OutboxEntry
from pragmatic_ddd_rocketmq import RocketMqEventManager
from pragmatic_ddd_rocketmq import event_manager as event_manager_module
from pragmatic_ddd_rocketmq.event_message import outgoing
from pragmatic_ddd_rocketmq.native_library import NativeLibrary
from pragmatic_ddd_rocketmq.outgoing_message import OutgoingMessage
from tests.adapters.rocketmq.shop import a_library, a_stored_event, an_event_manager, warm_up
from tests.databases import OutboxDatabase, outbox_database, sqlite_engine
from tests.unit.application.outbox.builders import seconds

pytestmark = pytest.mark.service("rocketmq")

_ERROR = 13  # what the client returns where its C++ code has raised
_STATUSES = {
    "FLUSH_DISK_TIMEOUT": 1,
    "FLUSH_SLAVE_TIMEOUT": 2,
    "SLAVE_NOT_AVAILABLE": 3,
    "unknown send status 4": 4,
    "unknown send status -1": -1,
}


@attrs.define
class ChangedAnswers:
    """The library, whose answers a test changes after the broker has stored the message."""

    library: NativeLibrary
    status: int = 0
    send_status: int | None = None

    def changed(self) -> NativeLibrary:
        return attrs.evolve(self.library, send_orderly=self._send)

    def _send(self, *arguments: Any) -> int:  # noqa: ANN401  # as ctypes passes them
        status = self.library.send_orderly(*arguments)
        result = arguments[-1]._obj  # of ctypes.byref
        if self.send_status is not None:
            result.send_status = self.send_status
        return status or self.status


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> ChangedAnswers:
    answers = ChangedAnswers(a_library())
    changed = answers.changed()
    monkeypatch.setattr(event_manager_module, "load_native_library", lambda *_: changed)
    return answers


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[OutgoingMessage]:
    """Every message on its way to the client."""
    tries: list[OutgoingMessage] = []

    def noted(
        message: OutboxMessage,
        *arguments: Any,  # noqa: ANN401
        **named: Any,  # noqa: ANN401
    ) -> OutgoingMessage:
        tries.append(outgoing(message, *arguments, **named))
        return tries[-1]

    monkeypatch.setattr(event_manager_module, "outgoing", noted)
    return tries


@pytest.fixture
def manager(answers: ChangedAnswers, topic: str) -> Iterator[RocketMqEventManager]:
    with an_event_manager(topic) as manager:
        warm_up(manager)
        yield manager


@pytest.fixture
def database(tmp_path: Path) -> Iterator[OutboxDatabase]:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        yield database


def _try_twice(
    database: OutboxDatabase, manager: RocketMqEventManager, mend: Callable[[], None]
) -> tuple[OutboxEntry, OutboxEntry]:
    """Let a relay try one message, mend what is wrong, let another try; return both rows."""
    store = database.store()
    message = a_stored_event()
    store.store([message])
    assert OutboxRelay(store=store, publisher=manager).run_once().sent == 0
    first = store.find(message.message_id)
    mend()
    database.pass_time(seconds(1))
    assert OutboxRelay(store=store, publisher=manager).run_once().sent == 1
    second = store.find(message.message_id)
    assert first is not None
    assert second is not None
    return first, second


@pytest.mark.parametrize("meaning", _STATUSES)
def test_no_other_status_than_send_ok_makes_a_row_sent(
    meaning: str,
    answers: ChangedAnswers,
    manager: RocketMqEventManager,
    database: OutboxDatabase,
    tries: list[OutgoingMessage],
) -> None:
    answers.send_status = _STATUSES[meaning]

    def mend() -> None:
        answers.send_status = None

    first, second = _try_twice(database, manager, mend)

    assert (first.status, first.receipt) == (OutboxStatus.PENDING, None)
    assert meaning in (first.last_error or "")
    assert second.status is OutboxStatus.SENT
    assert tries[0] == tries[1]  # key, id and bytes: a consumer drops the second


def test_a_message_that_was_stored_though_its_send_failed_comes_again_under_the_same_id(
    answers: ChangedAnswers,
    manager: RocketMqEventManager,
    database: OutboxDatabase,
    tries: list[OutgoingMessage],
) -> None:
    answers.status = _ERROR

    def mend() -> None:
        answers.status = 0

    first, second = _try_twice(database, manager, mend)

    assert (first.status, first.attempts) == (OutboxStatus.PENDING, 0)
    assert "no confirmation" in (first.last_error or "")
    assert second.status is OutboxStatus.SENT
    assert " at offset 1 on " in (second.receipt or "")  # the first is stored at 0
    assert tries[0] == tries[1]


def test_while_it_is_not_started_no_row_is_sent_and_none_loses_an_attempt(
    topic: str, database: OutboxDatabase
) -> None:
    manager = an_event_manager(topic)

    def mend() -> None:
        manager.start()
        warm_up(manager)

    try:
        first, second = _try_twice(database, manager, mend)
    finally:
        manager.shutdown()

    assert (first.status, first.attempts) == (OutboxStatus.PENDING, 0)
    assert "not been started" in (first.last_error or "")
    assert second.status is OutboxStatus.SENT
