"""How a process ends that has used the native client: soon, and with its own exit status."""

import pytest

from tests.adapters.rocketmq import child
from tests.adapters.rocketmq.shop import unique
from tests.services.admin import create_topic

pytestmark = pytest.mark.service("rocketmq")

A_PRODUCER = """
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="ends",
                          send_timeout=timedelta(seconds=3))
topic = unique("ends")
"""
A_RUNNING_PRODUCER = (
    A_PRODUCER
    + """
producer.start()
warm_up(producer, topic)
producer.send(a_message(topic=topic))
print("sent", flush=True)
"""
)


def a_consumer(topic: str = 'unique("ends")', *, handler: str = "print") -> str:
    return f"""
event_manager = an_event_manager({topic}, consumer_group=unique("ends"))
event_manager.register_subscriber("mail", OrderPaid, {handler})
event_manager.start()
warm_up(event_manager)
event_manager.publish(OrderPaid(aggregate_id="order-1"))
print("sent", flush=True)
"""


A_CONSUMER = a_consumer()  # its topic is new to the client, which will not see it for 30 s


@pytest.mark.parametrize("client", [A_RUNNING_PRODUCER, A_CONSUMER], ids=["producer", "consumer"])
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('business')", 1),
        ("raise SystemExit('text')", 1),
        (
            """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(10)
""",
            7,
        ),
        (
            """
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(10)
""",
            -2,
        ),
    ],
    ids=["end of main", "sys.exit", "exception", "text", "SIGTERM", "Ctrl-C"],
)
def test_a_process_ends_without_a_shutdown(client: str, ending: str, status: int) -> None:
    result = child.run(client + ending)

    assert result.returncode == status, result.stderr
    assert result.stdout.startswith("sent")


def test_a_process_ends_while_threads_are_sending() -> None:
    result = child.run(
        A_RUNNING_PRODUCER
        + """
def send():
    while True:
        producer.send(a_message(topic=topic))
for _ in range(4):
    threading.Thread(target=send, daemon=True).start()
time.sleep(0.3)
sys.exit(4)
"""
    )

    assert result.returncode == 4, result.stderr


def test_a_process_ends_while_a_first_send_hangs() -> None:
    result = child.run(
        A_PRODUCER
        + """
import socket
from pragmatic_ddd_rocketmq.name_server import NameServers
silent = socket.create_server(("127.0.0.1", 0))
producer.name_servers = NameServers.parse(f"127.0.0.1:{silent.getsockname()[1]}")
producer.send_timeout = timedelta(seconds=1)
producer.start()
threading.Thread(target=producer.send, args=(a_message(),), daemon=True).start()
time.sleep(0.5)
sys.exit(5)
""",
        timeout=20,
    )

    assert result.returncode == 5, result.stderr


@pytest.mark.parametrize("ending", ["sys.exit(5)", "os._exit(5)"])
def test_a_child_that_ends_does_not_take_its_parent_with_it(ending: str) -> None:
    """A child shares the parent's epoll; its destructors would unhook the parent's threads."""
    result = child.run(
        A_RUNNING_PRODUCER
        + f"""
pid = os.fork()
if pid == 0:
    {ending}
assert os.waitpid(pid, 0)[1] == 5 << 8
for _ in range(100):
    producer.send(a_message(topic=topic))
assert producer.close(within=timedelta(seconds=5))
"""
    )

    assert result.returncode == 0, result.stderr


def test_after_a_fork_everything_is_refused_in_the_child() -> None:
    result = child.run(
        A_RUNNING_PRODUCER
        + """
manager = an_event_manager(topic)
manager.start()
warm_up(manager)
manager.publish(OrderPaid(aggregate_id="order-1"))
new = NativeProducer(library=a_library(), name_servers=name_servers(), group="ends",
                     send_timeout=timedelta(seconds=3))
def attempt(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
pid = os.fork()
if pid == 0:
    attempt(producer.send, a_message(topic=topic))
    attempt(new.start)
    attempt(manager.publish, OrderPaid(aggregate_id="order-1"))
    attempt(manager.publish_stored, a_stored_event())
    attempt(manager.start)
    attempt(an_event_manager(topic).start)
    print("closed", producer.close(within=timedelta(seconds=5)))
    manager.shutdown()
    sys.exit(6)
assert os.waitpid(pid, 0)[1] == 6 << 8
print(bool(producer.send(a_message(topic=topic)).message_id))
"""
    )

    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "sent"
    assert [line.split()[0] for line in lines[1:]] == [
        "NotSentError",
        "RocketMqStartError",
        "BrokerUnavailableError",
        "BrokerUnavailableError",
        "RocketMqStartError",
        "RocketMqStartError",
        "closed",
        "True",
    ]
    assert "start it in the worker" in lines[1]
    assert "Start it in the worker" in lines[2]


def test_a_worker_may_start_what_its_parent_only_made() -> None:
    result = child.run(
        A_PRODUCER
        + """
pid = os.fork()
if pid == 0:
    producer.start()
    warm_up(producer, topic)
    print(bool(producer.send(a_message(topic=topic)).message_id), flush=True)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout == "True\n"


def test_leaving_flushes_and_keeps_the_status() -> None:
    result = child.run(
        A_CONSUMER
        + """
import logging
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
from pragmatic_ddd_rocketmq import leave_process
sys.stdout.write("unfinished line")
event_manager.shutdown()
leave_process(9)
"""
    )

    assert result.returncode == 9, result.stderr
    assert "unfinished line" in result.stdout


def test_leaving_works_without_any_client() -> None:
    result = child.run(
        """
        from pragmatic_ddd_rocketmq import leave_process
        leave_process()
        """
    )

    assert result.returncode == 0, result.stderr


def test_where_the_c_library_cannot_keep_the_status_the_process_still_ends() -> None:
    result = child.run(
        A_CONSUMER
        + """
from pragmatic_ddd_rocketmq import process_end
def missing():
    raise AttributeError("on_exit")
process_end.leave_without_destructors = missing
"""
    )

    assert result.returncode == 1
    assert "leave_process(status)" in result.stderr


def test_a_process_under_a_flood_of_messages_ends_like_any_other() -> None:
    """Native threads deliver into an interpreter that is going down."""
    topic = unique("ends")
    create_topic(topic)
    script = (
        """
seen = 0
def count(event):
    global seen
    seen += 1
"""
        + a_consumer(repr(topic), handler="count")
        + """
def send():
    for number in range(20_000):
        try:
            event_manager.publish(OrderPaid(aggregate_id=f"order-{number}"))
        except Exception:
            return
for _ in range(2):
    threading.Thread(target=send, daemon=True).start()
while seen < 300:
    time.sleep(0.01)
sys.exit(8)
"""
    )

    for _ in range(3):
        result = child.run(script)
        assert result.returncode == 8, result.stderr[-3000:]
