"""Forks, signals and the end of the interpreter, each in a process of its own."""

import subprocess
import time

import pytest

from tests.script import needs_fork, run_script

_TIMEOUT_SECONDS = 40

_SETUP = """
import datetime as dt
import os
import signal
import sys
import threading
import time

from pragmatic_ddd.application.outbox import *
from pragmatic_ddd.testing.faults import ScriptedPublisher, waits_for
from pragmatic_ddd_local import CountingMetrics, InMemoryOutboxStore
from tests.forked import exit_codes, in_child
from tests.unit.application.outbox.builders import a_message, eventually, push, seconds

store = InMemoryOutboxStore()
publisher = ScriptedPublisher(longest_call=seconds(1))
metrics = CountingMetrics()
health = BrokerHealth()
pool = EagerPoolConfig(workers=2, shutdown_timeout=seconds(1))
eager = EagerOutboxPublisher(
    store=store, publisher=publisher, pool=pool, metrics=metrics, health=health
)
relay = OutboxRelay(store=store, publisher=publisher, health=health)
eager.wake_relay = relay.wake
gate = threading.Event()


def hold_every_lock():
    # What a forked child would find locked for ever.
    locks = [eager._board._lock, eager._starting, health._lock, relay._running]
    held = threading.Event()

    def hold():
        for lock in locks:
            lock.acquire()
        held.set()
        gate.wait(60)
        for lock in locks:
            lock.release()

    threading.Thread(target=hold, daemon=True).start()
    held.wait(60)

"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    return run_script(_SETUP, body, timeout_seconds=_TIMEOUT_SECONDS)


_ENDS_BEFORE_A_CALL = "eager publisher ends, but a call of its threads"


def assert_ends_well(done: subprocess.CompletedProcess[str], *, printing: str = "") -> None:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.strip() == printing


@needs_fork
def test_a_forked_child_pushes_and_shuts_down_though_the_parent_held_every_lock() -> None:
    done = run("""
        push(eager, a_message("of the parent"))
        assert eager.wait_until_idle(seconds(10))
        hold_every_lock()

        def work():
            push(eager, a_message("of the child", of="2"))
            assert eager.wait_until_idle(seconds(10))
            assert publisher.delivered_ids() == ["of the parent", "of the child"]
            relay.wake()
            relay.start()
            assert relay.shutdown(seconds(10))
            assert eager.shutdown()
            assert eager.reserve(1) is None

        print("children:", exit_codes([in_child(work)]))
        gate.set()
        push(eager, a_message("of the parent again", of="3"))
        assert eager.wait_until_idle(seconds(10))
        assert publisher.delivered_ids() == ["of the parent", "of the parent again"]
    """)

    assert_ends_well(done, printing="children: [0]")


@needs_fork
def test_what_the_parent_had_queued_is_not_the_childs() -> None:
    done = run("""
        publisher.on("of the parent", waits_for(gate))
        push(eager, a_message("of the parent"))
        eventually(lambda: publisher.tried)

        def work():
            assert eager.wait_until_idle(seconds(0))
            assert eager.reserve(10_000) is not None

        print("children:", exit_codes([in_child(work)]))
        gate.set()
        assert eager.shutdown()
        assert publisher.delivered_ids() == ["of the parent"]
    """)

    assert_ends_well(done, printing="children: [0]")


def test_the_end_of_the_interpreter_sends_what_is_queued() -> None:
    done = run("""
        import atexit
        atexit.register(lambda: print(len(publisher.delivered), store.backlog().pending))
        for number in range(200):
            push(eager, a_message(of=str(number)))
    """)

    assert_ends_well(done, printing="200 0")


def test_the_end_of_the_interpreter_is_bounded_while_a_publish_hangs() -> None:
    begun = time.monotonic()
    done = run("""
        import atexit
        atexit.register(lambda: print([claim.attempts for claim in store.claim_pending(
            batch_size=100, lease=seconds(60))]))
        publisher.next(waits_for(gate), waits_for(gate))
        for number in range(5):
            push(eager, a_message(of=str(number)))
        eventually(lambda: len(publisher.tried) == 2)
    """)

    assert done.returncode == 0
    assert _ENDS_BEFORE_A_CALL in done.stderr
    assert done.stdout.strip() == "[0, 0, 0]", "the queued rows were given back"
    assert time.monotonic() - begun < 20


def test_the_end_of_the_interpreter_stops_a_relay_and_gives_back_what_it_has_claimed() -> None:
    done = run("""
        import atexit
        atexit.register(lambda: print(len(publisher.tried), [claim.attempts for claim in
            store.claim_pending(batch_size=9, lease=seconds(60))]))
        publisher.side_by_side = 2
        publisher.on("m0", waits_for(gate))
        publisher.on("m1", waits_for(gate))
        store.store([a_message(f"m{number}", of=str(number)) for number in range(5)])
        relay.start()
        eventually(lambda: len(publisher.tried) == 2)
        # Registered last, so called first: the sends in hand end only once it was told to stop.
        atexit.register(lambda: threading.Thread(
            target=lambda: (eventually(lambda: relay._stopping), gate.set()), daemon=True).start())
    """)

    assert_ends_well(done, printing="2 [0, 0, 0]")


def test_shutdown_from_a_signal_handler_while_the_main_thread_announces() -> None:
    done = run("""
        results = []

        def on_alarm(number, frame):
            results.append(eager.shutdown())

        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        number = 0
        while not results:
            push(eager, a_message(of=str(number)))
            number += 1
        push(eager, a_message(of="late"))
        assert eager.reserve(1) is None
        # False where it interrupted a call that held a lock of the store in memory.
        assert len(results) == 1
        eventually(lambda: not any(thread.is_alive() for thread in eager._threads))
    """)

    assert done.returncode == 0, done.stderr
    assert all(_ENDS_BEFORE_A_CALL in line for line in done.stderr.splitlines()), done.stderr


def test_shutdown_from_a_signal_handler_while_the_main_thread_waits() -> None:
    done = run("""
        publisher.next(waits_for(gate))
        push(eager, a_message())
        eventually(lambda: publisher.tried)
        results = []

        def on_alarm(number, frame):
            gate.set()
            results.append(eager.shutdown())

        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert eager.wait_until_idle(seconds(20))
        assert results == [True], results
    """)

    assert_ends_well(done)


@pytest.mark.parametrize("call", ["relay.stop()", "relay.shutdown()"])
def test_a_signal_handler_stops_a_relay_that_runs_in_the_main_thread(call: str) -> None:
    done = run(f"""
        def on_alarm(number, frame):
            {call}

        signal.signal(signal.SIGALRM, on_alarm)
        for _ in range(50):  # at whatever instruction it comes
            relay = OutboxRelay(
                store=store,
                publisher=publisher,
                config=OutboxRelayConfig(poll_interval=dt.timedelta(minutes=5)),
            )
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            relay.run()
    """)

    assert_ends_well(done)
