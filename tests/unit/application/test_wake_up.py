import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from pragmatic_ddd.application.wake_up import WakeUp
from tests.unit.application.outbox.builders import DEADLINE


def test_a_call_before_the_sleep_is_remembered() -> None:
    wake_up = WakeUp()

    wake_up.call()

    assert wake_up.sleep(60)


def test_many_calls_end_one_sleep() -> None:
    wake_up = WakeUp()
    for _ in range(100):
        wake_up.call()

    assert wake_up.sleep(60)
    assert not wake_up.sleep(0)


def test_what_is_forgotten_ends_no_sleep() -> None:
    wake_up = WakeUp()
    wake_up.call()

    wake_up.forget()

    assert not wake_up.sleep(0)


def test_a_sleep_that_nobody_ends_takes_its_time() -> None:
    begun = time.monotonic()

    assert not WakeUp().sleep(1.2)

    assert time.monotonic() - begun >= 1.2


def test_another_thread_ends_the_sleep() -> None:
    wake_up = WakeUp()
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(wake_up.sleep(60)))
    thread.start()

    wake_up.call()

    thread.join(DEADLINE.total_seconds())
    assert woken == [True]


@pytest.mark.parametrize("method", [lambda one: one.sleep(0), WakeUp.forget, WakeUp.call])
def test_it_may_be_called_at_any_line_of_itself(method: Callable[[WakeUp], object]) -> None:
    """As by a signal handler, which runs in the same thread between any two steps."""
    wake_up = WakeUp()
    calls = itertools.count()

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        if next(calls) < 50:
            wake_up.call()
        return trace

    def run() -> None:
        sys.settrace(trace)  # type: ignore[arg-type]  # its type asks for Any
        try:
            method(wake_up)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE.total_seconds())

    assert not thread.is_alive(), "it waits for itself"


def test_a_signal_handler_ends_the_sleep_of_its_own_thread() -> None:
    wake_up = WakeUp()

    def on_alarm(number: int, frame: FrameType | None) -> None:
        wake_up.call()

    before = signal.signal(signal.SIGALRM, on_alarm)
    try:
        for _ in range(200):  # at whatever instruction it comes
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            begun = time.monotonic()
            assert wake_up.sleep(20)
            assert time.monotonic() - begun < 10
            wake_up.forget()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
