"""Threads that stay for the next task: how many there are, and that they end."""

import threading
from collections.abc import Callable, Iterator

import pytest

from pragmatic_ddd.application.outbox.reused_threads import ReusedThreads
from pragmatic_ddd.application.outbox.task import Task
from tests.unit.application.outbox.builders import DEADLINE, eventually

_NAME = "reused-thread-of-this-test"


def running() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith(_NAME)]


@pytest.fixture
def threads() -> Iterator[ReusedThreads]:
    threads = ReusedThreads()
    yield threads
    threads.end()
    eventually(lambda: not running())


def begun(threads: ReusedThreads, work: Callable[[], object], name: str = _NAME) -> Task:
    task = Task(name, work)
    assert task.begin(threads.start)
    return task


def test_one_after_the_other_is_done_by_one_thread(threads: ReusedThreads) -> None:
    idents: set[int] = set()
    for _ in range(200):
        begun(threads, lambda: idents.add(threading.get_ident())).join()

    assert len(idents) == 1
    assert len(running()) == 1


def test_there_are_as_many_as_there_were_tasks_at_once(threads: ReusedThreads) -> None:
    all_run = threading.Barrier(4)
    for _ in range(50):
        for task in [
            begun(threads, lambda: all_run.wait(DEADLINE.total_seconds())) for _ in range(4)
        ]:
            task.join()

    assert not all_run.broken
    assert len(running()) == 4


def test_a_thread_has_the_name_of_what_it_does(threads: ReusedThreads) -> None:
    names: list[str] = []
    for number in range(2):
        task = begun(
            threads,
            lambda: names.append(threading.current_thread().name),
            name=f"{_NAME}-{number}",
        )
        task.join()

    assert names == [f"{_NAME}-0", f"{_NAME}-1"]


def test_what_fails_does_not_end_its_thread(threads: ReusedThreads) -> None:
    def fails() -> None:
        raise ValueError("broken")

    begun(threads, fails).join()
    idents: list[int] = []
    begun(threads, lambda: idents.append(threading.get_ident())).join()

    assert [one.ident for one in running()] == idents


def test_idle_ones_end_at_once_and_busy_ones_after_their_task(threads: ReusedThreads) -> None:
    gate, both = threading.Event(), threading.Barrier(2)

    def waits() -> None:
        both.wait(DEADLINE.total_seconds())
        gate.wait(DEADLINE.total_seconds())

    def waits_no_more() -> None:
        both.wait(DEADLINE.total_seconds())

    busy = begun(threads, waits)
    begun(threads, waits_no_more).join()

    threads.end()
    eventually(lambda: len(running()) == 1)
    assert busy.is_alive()
    gate.set()
    busy.join()
    eventually(lambda: not running())


def test_after_the_end_there_may_be_new_ones(threads: ReusedThreads) -> None:
    begun(threads, lambda: None).join()
    threads.end()
    eventually(lambda: not running())

    done: list[None] = []
    begun(threads, lambda: done.append(None)).join()

    assert done == [None]


def test_many_ends_in_between_lose_no_task(threads: ReusedThreads) -> None:
    done: list[int] = []
    for number in range(500):
        task = begun(threads, lambda number=number: done.append(number))  # type: ignore[misc]
        threads.end()
        task.join()

    assert done == list(range(500))
    eventually(lambda: not running())


def test_what_never_began_leaves_its_thread_to_others(threads: ReusedThreads) -> None:
    def interrupted(task: Task) -> None:
        task._call_off()
        threads.start(task)

    assert not Task(_NAME, lambda: None).begin(interrupted)

    done: list[None] = []
    begun(threads, lambda: done.append(None)).join()
    assert done == [None]
    eventually(lambda: len(running()) == 1)
