import signal
import threading
import time
from types import FrameType

from pragmatic_ddd.application.wake_up import WakeUp
from tests.unit.application.outbox.builders import eventually


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


def test_another_thread_ends_the_sleep() -> None:
    wake_up = WakeUp()
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(wake_up.sleep(60)))
    thread.start()

    wake_up.call()

    eventually(lambda: woken == [True])
    thread.join()


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
