"""Threads for whose end one can wait, also after Ctrl-C."""

import datetime as dt
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.outbox.threads import OneThread, end_within, start_thread
from tests.forked import exit_codes, in_child
from tests.unit.application.outbox.builders import DEADLINE


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def waiting(gate: threading.Event) -> threading.Thread:
    def wait() -> None:
        gate.wait(DEADLINE.total_seconds())

    return start_thread("waits", wait)


def test_it_is_alive_until_its_work_is_done(gate: threading.Event) -> None:
    assert not OneThread("never started", list).is_alive()

    thread = waiting(gate)
    assert thread.is_alive()
    thread.join(0.001)
    assert thread.is_alive()
    gate.set()
    thread.join()

    assert not thread.is_alive()


def test_who_was_interrupted_waits_again(gate: threading.Event) -> None:
    thread = waiting(gate)
    noticed = threading.Event()

    def notice(*_: object) -> None:
        if not noticed.is_set():
            noticed.set()
            raise KeyboardInterrupt

    def press() -> None:
        main = threading.main_thread().ident
        assert main is not None
        while not noticed.wait(0.01):
            signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, notice)
    pressing = start_thread("presses Ctrl-C", press)
    with pytest.raises(KeyboardInterrupt):
        end_within(DEADLINE, [thread])
    pressing.join()
    signal.signal(signal.SIGINT, before)

    assert thread.is_alive()
    assert not end_within(dt.timedelta(milliseconds=1), [thread])
    gate.set()
    assert end_within(DEADLINE, [thread])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_in_a_forked_child_it_is_none(gate: threading.Event) -> None:
    thread = waiting(gate)

    def look() -> None:
        assert not thread.is_alive()
        thread.join()

    assert exit_codes([in_child(look)]) == [0]
