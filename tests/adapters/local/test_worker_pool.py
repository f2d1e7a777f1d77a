import datetime as dt
import logging
import sys
import threading

import pytest

from pragmatic_ddd_local.delay_scheduler import DelayScheduler
from pragmatic_ddd_local.worker_pool import Job, WorkerPool
from tests.adapters.local.shop import A_WHILE

AN_HOUR = dt.timedelta(hours=1)


def a_pool(*, workers: int = 1, queue_size: int = 1) -> WorkerPool:
    return WorkerPool("test", workers, queue_size)


def test_workers_do_the_jobs() -> None:
    pool = a_pool(workers=3, queue_size=100)
    pool.start()
    threads: set[str] = set()

    for number in range(50):
        pool.submit(Job(str(number), lambda: threads.add(threading.current_thread().name)))

    assert pool.wait_until_idle(A_WHILE)
    assert threads <= {"test-0", "test-1", "test-2"}
    assert pool.close() == []
    pool.join(A_WHILE)


def test_a_full_queue_makes_the_caller_do_the_job() -> None:
    pool = a_pool()
    pool.start()
    started, gate, by = threading.Event(), threading.Event(), []

    def block() -> None:
        started.set()
        gate.wait(10)

    pool.submit(Job("blocking", block))
    assert started.wait(10)
    pool.submit(Job("queued", lambda: by.append("worker")))
    pool.submit(Job("third", lambda: by.append(threading.current_thread().name)))
    assert by == [threading.current_thread().name]

    gate.set()
    assert pool.wait_until_idle(A_WHILE)
    assert by[1:] == ["worker"]
    pool.close()
    pool.join(A_WHILE)


def test_a_closed_pool_makes_the_caller_do_the_job() -> None:
    pool = a_pool()
    pool.start()
    pool.close()
    pool.join(A_WHILE)
    done: list[str] = []

    pool.submit(Job("late", lambda: done.append(threading.current_thread().name)))

    assert done == [threading.current_thread().name]


def test_a_job_that_ends_its_thread_ends_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    pool = a_pool(queue_size=10)
    pool.start()
    done = threading.Event()

    with caplog.at_level(logging.ERROR):
        pool.submit(Job("mail of shop.order.paid", lambda: sys.exit(1)))
        pool.submit(Job("next", done.set))
        assert done.wait(10)

    assert "mail of shop.order.paid" in caplog.text
    assert pool.wait_until_idle(A_WHILE)
    pool.close()
    pool.join(A_WHILE)


def test_closing_names_what_is_not_finished() -> None:
    pool = a_pool(queue_size=10)
    pool.start()
    started, gate = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        gate.wait(10)

    never: list[str] = []
    pool.submit(Job("under way", block))
    assert started.wait(10)
    pool.submit(Job("queued", lambda: never.append("done")))

    assert not pool.wait_until_idle(dt.timedelta())
    assert {job.description for job in pool.close()} == {"under way", "queued"}
    gate.set()
    pool.join(A_WHILE)
    assert never == []


def test_a_scheduler_waits_for_room_and_does_no_job_itself() -> None:
    pool = a_pool()
    scheduler = DelayScheduler("delay", pool)
    pool.start()
    scheduler.start()
    started, gate, by = threading.Event(), threading.Event(), []

    def block() -> None:
        started.set()
        gate.wait(10)

    pool.submit(Job("blocking", block))
    assert started.wait(10)
    for number in range(5):
        job = Job(str(number), lambda: by.append(threading.current_thread().name))
        scheduler.postpone(job, dt.timedelta())
    gate.set()

    assert pool.wait_until_idle(A_WHILE)
    assert by == ["test-0"] * 5
    scheduler.close()
    pool.close()
    scheduler.join(A_WHILE)


def test_jobs_are_due_in_the_order_of_their_times() -> None:
    now = [0.0]
    pool = a_pool(queue_size=100)
    scheduler = DelayScheduler("delay", pool, lambda: now[0])
    done: list[int] = []
    for seconds in (30, 10, 20, 10):
        job = Job(str(seconds), lambda seconds=seconds: done.append(seconds))  # type: ignore[misc]  # mypy cannot infer it
        scheduler.postpone(job, dt.timedelta(seconds=seconds))
    now[0] = 25.0

    pool.start()
    scheduler.start()
    while len(done) < 3:
        pool.wait_until_idle(dt.timedelta(milliseconds=1))

    assert done == [10, 10, 20]
    scheduler.hurry()
    assert pool.wait_until_idle(A_WHILE)
    assert done == [10, 10, 20, 30]
    scheduler.close()
    pool.close()
    scheduler.join(A_WHILE)


def test_in_a_hurry_nothing_waits() -> None:
    pool = a_pool(queue_size=10)
    scheduler = DelayScheduler("delay", pool)
    pool.start()
    scheduler.start()
    done: list[str] = []

    scheduler.postpone(Job("early", lambda: done.append("early")), AN_HOUR)
    scheduler.hurry()
    scheduler.postpone(Job("late", lambda: done.append("late")), AN_HOUR)

    assert pool.wait_until_idle(A_WHILE)
    assert sorted(done) == ["early", "late"]
    scheduler.close()
    pool.close()
    scheduler.join(A_WHILE)


def test_a_closed_scheduler_leaves_its_jobs_undone() -> None:
    pool = a_pool()
    scheduler = DelayScheduler("delay", pool)
    scheduler.postpone(Job("held", lambda: None), AN_HOUR)
    scheduler.close()
    scheduler.start()
    scheduler.join(A_WHILE)

    assert [job.description for job in pool.close()] == ["held"]
