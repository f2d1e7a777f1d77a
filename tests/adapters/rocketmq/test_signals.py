"""A signal handler may shut down what the main thread is just using; each in a process of its own.

It runs in the main thread, between any two steps of Python code: also while that holds a lock.
"""

import pytest

from tests.adapters.rocketmq import child

pytestmark = pytest.mark.service("rocketmq")


def test_a_handler_shuts_down_what_the_main_thread_is_starting() -> None:
    """The start asks a name server that never answers, for 3 s."""
    result = child.run(
        """
        import socket
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            manager = an_event_manager("events", name_server=address, check_at_start=True)
            signal.signal(signal.SIGALRM, lambda *_: manager.shutdown())
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                manager.start()
            except Exception as error:
                print(type(error).__name__)
        """,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["RocketMqStartError"]


def test_what_a_handler_has_shut_down_while_it_was_started_does_not_stay_connected() -> None:
    result = child.run(
        """
        from pragmatic_ddd_rocketmq import process_end
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        manager = an_event_manager("events")
        start = NativeProducer.start

        def interrupted(producer):
            start(producer)
            signal.raise_signal(signal.SIGALRM)

        NativeProducer.start = interrupted
        signal.signal(signal.SIGALRM, lambda *_: manager.shutdown())
        try:
            manager.start()
        except Exception as error:
            print(type(error).__name__, len(process_end._process.clients))
        """,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["InfrastructureError", "0"]


def test_a_handler_shuts_down_what_the_main_thread_is_publishing_with() -> None:
    """At any step: each round is interrupted a little later than the one before."""
    result = child.run(
        """
        from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError
        for round in range(60):
            manager = an_event_manager("signals")
            signal.signal(signal.SIGALRM, lambda *_: manager.shutdown())
            manager.start()
            signal.setitimer(signal.ITIMER_REAL, 0.002 + round * 0.0001)
            while True:
                try:
                    manager.publish_stored(a_stored_event())
                except EventUnconfirmedError:
                    pass
                except BrokerUnavailableError as error:
                    break
        print("done")
        """,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["done"]


@pytest.mark.parametrize("step", ["with the lock held", "before the hand-over"])
def test_a_handler_that_comes_at_the_worst_moment_of_a_send(step: str) -> None:
    result = child.run(
        f"""
        from pragmatic_ddd_rocketmq.helper_thread import HelperThread
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        owner, name = {{
            "with the lock held": (NativeProducer, "_check_running"),
            "before the hand-over": (HelperThread, "call"),
        }}[{step!r}]
        producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="shop",
                                  send_timeout=timedelta(seconds=3))
        producer.start()
        warm_up(producer, "signals")
        original = getattr(owner, name)

        def interrupted(*arguments):
            if threading.current_thread() is threading.main_thread():
                signal.raise_signal(signal.SIGALRM)
            return original(*arguments)

        setattr(owner, name, interrupted)
        signal.signal(signal.SIGALRM, lambda *_: producer.close(within=timedelta(seconds=5)))
        try:
            producer.send(a_message(topic="signals"))
        except Exception as error:
            print(type(error).__name__)
        """,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["NotSentError"]
