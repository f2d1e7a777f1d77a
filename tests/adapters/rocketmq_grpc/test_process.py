"""Forks, and the end of a process; each in a process of its own."""

import pytest

from tests.adapters.rocketmq_grpc import child
from tests.adapters.rocketmq_grpc.shop import a_group, a_topic
from tests.script import needs_fork

pytestmark = pytest.mark.service("rocketmq-grpc")


@needs_fork
def test_a_manager_that_was_started_before_a_fork_refuses_in_the_child() -> None:
    result = child.run(
        f"""
        from pragmatic_ddd.errors import BrokerUnavailableError
        manager = an_event_manager({a_topic()!r})
        manager.start()
        manager.publish_stored(a_stored_event())
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            begun = time.monotonic()
            try:
                manager.publish_stored(a_stored_event())
            except BrokerUnavailableError as error:
                print("child", "fork" in str(error), time.monotonic() - begun < 1)
            answers = manager.publish_many([a_stored_event()])
            print("many", [type(answer).__name__ for answer in answers])
            manager.shutdown()
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        print("parent", bool(manager.publish_stored(a_stored_event()).text))
        manager.shutdown()
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "child True True",
        "many ['BrokerUnavailableError']",
        "parent True",
    ]


@needs_fork
def test_a_new_manager_in_the_child_of_a_started_one_says_what_to_do() -> None:
    """It would wait for ever: the thread of all clients is the parent's."""
    result = child.run(
        f"""
        from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcStartError
        topic = {a_topic()!r}
        manager = an_event_manager(topic)
        manager.start()
        pid = os.fork()
        if pid == 0:
            try:
                an_event_manager(topic).start()
            except RocketMqGrpcStartError as error:
                print("Start it in the worker" in str(error))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        manager.shutdown()
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["True"]


@needs_fork
def test_it_is_noticed_when_the_application_has_used_the_client_before_the_fork() -> None:
    result = child.run(
        f"""
        from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcStartError
        a_connection().library.rpc_client()
        pid = os.fork()
        if pid == 0:
            try:
                an_event_manager({a_topic()!r}).start()
            except RocketMqGrpcStartError:
                print("refused")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        """
    )

    assert result.stdout.split() == ["refused"], result.stderr


@needs_fork
def test_a_manager_that_was_made_before_a_fork_is_started_in_the_child() -> None:
    result = child.run(
        f"""
        manager = an_event_manager({a_topic()!r})
        pid = os.fork()
        if pid == 0:
            with manager:
                print("child", bool(manager.publish_stored(a_stored_event()).text))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        with manager:
            print("parent", bool(manager.publish_stored(a_stored_event()).text))
        """
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["child True", "parent True"]


@needs_fork
def test_a_process_beside_a_client_can_be_forked() -> None:
    """A worker that has nothing to do with RocketMQ: gRPC's own preparations would end it."""
    result = child.run(
        f"""
        import collections
        statuses = collections.Counter()
        with an_event_manager({a_topic()!r}) as manager:
            for _ in range(30):
                manager.publish_stored(a_stored_event())
                pid = os.fork()
                if pid == 0:
                    os._exit(0)
                statuses[os.waitpid(pid, 0)[1]] += 1
        print(dict(statuses))
        """
    )

    assert result.stdout.strip() == "{0: 30}", result.stderr


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("sys.exit(3)", 3), ("raise ValueError('the end')", 1)],
)
def test_a_process_ends_also_where_nobody_shuts_down(ending: str, status: int) -> None:
    topic, group = a_topic(), a_group()
    result = child.run(
        f"""
        handled = threading.Event()
        manager = an_event_manager({topic!r}, consumer_group={group!r})
        manager.register_subscriber("note", OrderPaid, lambda event: handled.set())
        manager.start()
        manager.publish(OrderPaid(aggregate_id="order-1"))
        assert handled.wait(30)
        print("handled", flush=True)
        {ending}
        """,
        timeout=60,
    )

    assert result.stdout.split() == ["handled"], result.stderr
    assert result.returncode == status, result.stderr


def test_a_signal_handler_may_shut_down_what_the_main_thread_publishes_with() -> None:
    """At any step: each round is interrupted a little later than the one before."""
    result = child.run(
        f"""
        from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError
        for round in range(20):
            manager = an_event_manager({a_topic()!r})
            signal.signal(signal.SIGALRM, lambda *_: manager.shutdown())
            manager.start()
            signal.setitimer(signal.ITIMER_REAL, 0.01 + round * 0.0007)
            while True:
                try:
                    manager.publish_stored(a_stored_event())
                except EventUnconfirmedError:
                    pass
                except BrokerUnavailableError:
                    break
        print("done")
        """,
        timeout=120,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["done"]
