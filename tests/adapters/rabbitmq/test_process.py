"""Forked children, signals, and the end of a process that is not shut down."""

import signal

import pytest

from tests.adapters.rabbitmq.shop import OrderPaid, an_event_manager
from tests.adapters.rabbitmq.space import Space
from tests.adapters.rabbitmq.waiting import wait_until
from tests.script import needs_fork, run_script

pytestmark = pytest.mark.service("rabbitmq")

_SETUP = """
import os, signal, sys, threading, time
from tests.adapters.rabbitmq.shop import *
from tests.forked import exit_codes, in_child

exchange = sys.argv[1] if len(sys.argv) > 1 else os.environ["EXCHANGE"]
group = os.environ["GROUP"]
"""


def run(space: Space, body: str) -> str:
    done = run_script(
        _SETUP,
        body,
        timeout_seconds=60,
        variables={"EXCHANGE": space.exchange, "GROUP": space.group},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
def test_a_child_is_refused_and_its_parent_goes_on(space: Space) -> None:
    space.keep_everything()

    run(
        space,
        """
        from pragmatic_ddd.errors import BrokerUnavailableError, InfrastructureError

        events = an_event_manager(exchange, consumer_group=group)
        events.register_subscriber("stock", OrderPaid, print)
        events.start()
        events.publish_stored(a_stored_event())

        def child():
            for attempt in (
                lambda: events.publish_stored(a_stored_event()),
                lambda: events.publish(an_order_paid()),
            ):
                try:
                    attempt()
                except BrokerUnavailableError as error:
                    assert "fork" in str(error), error
                else:
                    raise AssertionError("published")
            answers = events.publish_many([a_stored_event(), a_stored_event()])
            assert {type(answer) for answer in answers} == {BrokerUnavailableError}, answers
            try:
                events.start()
            except InfrastructureError as error:
                assert "fork" in str(error), error
            events.shutdown()
            with an_event_manager(exchange) as own:
                own.publish_stored(a_stored_event())

        assert exit_codes([in_child(child), in_child(child)]) == [0, 0]
        for _ in range(20):
            events.publish_stored(a_stored_event())
        events.shutdown()
        """,
    )

    assert space.client.ready(space.everything) == 23


def test_ctrl_c_while_it_waits_leaves_it_usable(space: Space) -> None:
    space.keep_everything()

    run(
        space,
        """
        publishing = RabbitMqEventManager.publish_many.__code__

        def on_interrupt(_, frame):  # Ctrl-C, but in the call alone: not in the lines around it
            while frame is not None:
                if frame.f_code is publishing:
                    raise KeyboardInterrupt
                frame = frame.f_back

        signal.signal(signal.SIGINT, on_interrupt)
        events = an_event_manager(exchange)
        events.start()
        stop = threading.Event()

        def interrupt():
            while not stop.wait(0.003):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        interrupted = 0
        until = time.monotonic() + 3
        while time.monotonic() < until:
            try:
                events.publish_many([a_stored_event(aggregate_id=str(n)) for n in range(50)])
            except KeyboardInterrupt:
                interrupted += 1
        stop.set()
        thread.join()
        assert interrupted > 10, interrupted
        deadline = time.monotonic() + 10
        while True:
            (answer,) = events.publish_many([a_stored_event()])
            if not isinstance(answer, Exception):
                break
            assert time.monotonic() < deadline, answer
        events.shutdown()
        """,
    )


def test_a_signal_handler_may_shut_it_down_in_the_midst_of_anything(space: Space) -> None:
    space.keep_everything()

    run(
        space,
        """
        from pragmatic_ddd.errors import BrokerUnavailableError

        for round in range(20):
            events = an_event_manager(exchange, shutdown_timeout=dt.timedelta(seconds=1))
            signal.signal(signal.SIGALRM, lambda *_: events.shutdown())
            events.start()
            signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.003 * round)
            while True:
                answers = events.publish_many(
                    [a_stored_event(aggregate_id=str(n)) for n in range(50)]
                )
                errors = [answer for answer in answers if isinstance(answer, Exception)]
                if errors:
                    break
            assert {type(error) for error in errors} == {BrokerUnavailableError}, errors
        """,
    )


def test_a_process_that_is_killed_in_a_handler_gives_its_events_to_the_next_in_order(
    space: Space,
) -> None:
    handled: list[int] = []
    done = run_script(
        _SETUP,
        """
        published = threading.Event()

        def handle(event):
            print(event.total, flush=True)
            if event.total == 2 and published.wait(30):
                os.kill(os.getpid(), signal.SIGKILL)

        events = an_event_manager(exchange, consumer_group=group)
        events.register_subscriber("stock", OrderPaid, handle)
        events.start()
        for number in (1, 2, 3):
            events.publish_stored(stored(an_order_paid(number)))
        published.set()
        threading.Event().wait(30)
        """,
        timeout_seconds=60,
        variables={"EXCHANGE": space.exchange, "GROUP": space.group},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.split() == ["1", "2"]

    next_one = an_event_manager(space.exchange, consumer_group=space.group)
    next_one.register_subscriber("stock", OrderPaid, lambda event: handled.append(event.total))
    with next_one:
        wait_until(lambda: 3 in handled, lambda: handled)

    assert handled[-2:] == [2, 3]  # and 1 before them, if its acknowledgement had not left


def test_a_process_that_does_not_shut_down_ends_all_the_same(space: Space) -> None:
    space.keep_everything()

    out = run(
        space,
        """
        events = an_event_manager(exchange, consumer_group=group)
        events.register_subscriber("stock", OrderPaid, lambda event: time.sleep(60))
        events.start()
        events.publish(an_order_paid())
        print("ends")
        """,
    )

    assert out == "ends\n"
