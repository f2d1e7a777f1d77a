"""Work for another thread: it is done once, or called off, and who waits for it goes on."""

import contextvars
import logging
import threading

import pytest

from pragmatic_ddd.application.outbox.task import Task, start_task
from tests.unit.application.outbox.builders import DEADLINE


def no_more(_: Task) -> None:
    raise RuntimeError("can't start new thread")


def test_who_waits_goes_on_when_it_is_done() -> None:
    gate = threading.Event()
    done: list[str] = []

    def work() -> None:
        gate.wait(DEADLINE.total_seconds())
        done.append(threading.current_thread().name)

    task = Task("a-task", work)
    assert task.begin(start_task)
    assert task.is_alive()
    gate.set()
    task.join()

    assert done == ["a-task"]
    assert not task.is_alive()


def test_without_a_thread_it_is_called_off() -> None:
    task = Task("a-task", list)

    assert not task.begin(no_more)

    assert task.is_called_off
    assert not task.is_alive()
    task.join()


def test_ctrl_c_before_it_has_begun_calls_it_off_for_good() -> None:
    done: list[None] = []
    late: list[Task] = []

    def interrupted(task: Task) -> None:
        late.append(task)
        raise KeyboardInterrupt

    task = Task("a-task", lambda: done.append(None))
    with pytest.raises(KeyboardInterrupt):
        task.begin(interrupted)
    late[0].run()

    assert task.is_called_off
    assert not task.is_alive()
    assert done == []


def test_ctrl_c_after_it_has_begun_lets_it_go_on() -> None:
    has_begun, gate, done = threading.Event(), threading.Event(), list[None]()

    def work() -> None:
        has_begun.set()
        gate.wait(DEADLINE.total_seconds())
        done.append(None)

    def interrupted(task: Task) -> None:
        start_task(task)
        has_begun.wait(DEADLINE.total_seconds())
        raise KeyboardInterrupt

    task = Task("a-task", work)
    with pytest.raises(KeyboardInterrupt):
        task.begin(interrupted)

    assert not task.is_called_off
    assert task.is_alive()
    gate.set()
    task.join()
    assert done == [None]


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3)])
def test_what_fails_is_over_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def work() -> None:
        raise error

    task = Task("a-task", work)
    task.run()

    assert not task.is_alive()
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "a-task has failed" in record.message


def test_the_thread_is_free_before_who_waits_goes_on() -> None:
    alive: list[bool] = []
    task = Task("a-task", list)

    task.run(before_end=lambda: alive.append(task.is_alive()))

    assert alive == [True]


def test_what_it_sets_for_its_context_stays_there() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    seen: list[str] = []

    def work() -> None:
        seen.append(variable.get())
        variable.set("of the first")

    Task("first", work).run()
    Task("second", work).run()

    assert seen == ["none", "none"]
    assert variable.get() == "none"
