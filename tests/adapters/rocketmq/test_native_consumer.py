"""The consumer's own guards; what it does for events is in ``test_event_manager``."""

from collections.abc import Mapping

import pytest

from tests.adapters.rocketmq import child
from tests.adapters.rocketmq.heap import COUNTED, needs_a_counted_heap
from tests.adapters.rocketmq.shop import unique
from tests.services.admin import create_topic

pytestmark = pytest.mark.service("rocketmq")

A_CONSUMER = """
import logging, attrs
logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(levelname)s %(message)s")
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.native_consumer import NativeConsumer
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd.application.events import Redeliveries
handled = []
def a_consumer(**changes):
    settings = dict(library=a_library(), name_servers=name_servers(), group=unique("group"),
                    topics=[TOPIC], handler=handled.append, bury=lambda *_: None,
                    redeliveries=Redeliveries(max_attempts=3), threads=4)
    return NativeConsumer(**{**settings, **changes})
def a_producer():
    producer = NativeProducer(library=a_library(), name_servers=name_servers(), group="shop",
                              send_timeout=timedelta(seconds=3))
    producer.start()
    warm_up(producer, TOPIC)
    return producer
def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)
def attempt(call, **arguments):
    try:
        print(call.__name__, call(**arguments), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
"""


def run(
    script: str, *, timeout: float = 60, environment: Mapping[str, str] | None = None
) -> list[str]:
    topic = unique("consumed")
    create_topic(topic)
    result = child.run(
        f"TOPIC = {topic!r}\n{A_CONSUMER}\n{script}", timeout=timeout, environment=environment
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def test_it_starts_once_and_stops_once() -> None:
    lines = run("""
consumer = a_consumer()
consumer.start()
attempt(consumer.start)
attempt(consumer.close, within=timedelta(seconds=1))
attempt(consumer.close, within=timedelta(seconds=1))
attempt(consumer.start)
""")

    assert lines[0].startswith("RocketMqStartError consumer of")
    assert "is running" in lines[0]
    closed = [line for line in lines if line.startswith("close")]
    assert len(set(closed)) == 1
    assert lines[-1].startswith("RocketMqStartError")


def test_one_that_was_never_started_is_closed() -> None:
    assert (
        run("""
consumer = a_consumer()
attempt(consumer.close, within=timedelta(seconds=1))
attempt(consumer.start)
""")[0]
        == "close True"
    )


def test_a_name_that_does_not_resolve_stops_the_start_and_it_may_be_started_again() -> None:
    """The library would end the process within half a minute."""
    lines = run("""
consumer = a_consumer(name_servers=NameServers.parse("no-such-host.invalid:9876"))
attempt(consumer.start)
consumer.name_servers = name_servers()
consumer.start()
a_producer().send(a_message(topic=TOPIC))
wait_for(lambda: handled)
print("handled")
""")

    assert lines[0].startswith("RocketMqStartError no name server")
    assert lines[1] == "handled"


def test_a_message_is_copied_whole() -> None:
    lines = run("""
consumer = a_consumer(properties=["tenant", "missing"])
consumer.start()
receipt = a_producer().send(a_message(topic=TOPIC, body="Größe 😀".encode() * 3000,
                                      sharding_key="Ö", properties={"tenant": "订单"}))
wait_for(lambda: handled)
message = handled[0]
assert message.body == "Größe 😀".encode() * 3000
assert message.message_id == receipt.message_id
assert message.queue_offset == receipt.queue_offset
assert (message.topic, message.sharding_key, message.keys, message.tag) == (
    TOPIC, "Ö", "event-1", "shop.order.paid")
assert dict(message.properties) == {"tenant": "订单"}
assert abs(message.stored_at.timestamp() - time.time()) < 60
print("whole")
""")

    assert lines[0] == "whole"


def test_two_consumers_of_different_groups_live_in_one_process() -> None:
    lines = run("""
other = []
a_consumer().start()
a_consumer(handler=other.append).start()
a_producer().send(a_message(topic=TOPIC))
wait_for(lambda: handled and other)
print("both")
""")

    assert lines[0] == "both"


def test_after_a_fork_no_consumer_starts_in_the_child() -> None:
    lines = run("""
consumer = a_consumer()
consumer.start()
pid = os.fork()
if pid == 0:
    attempt(a_consumer().start)
    attempt(consumer.close, within=timedelta(seconds=1))
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
a_producer().send(a_message(topic=TOPIC))
wait_for(lambda: handled)
print("handled")
""")

    assert "Start it in the worker" in lines[0]
    assert lines[1] == "close False"
    assert lines[2] == "handled"


def test_a_consumer_that_nobody_holds_goes_on() -> None:
    """Collected while native threads deliver, it would end the process."""
    lines = run("""
import gc
a_consumer().start()
gc.collect()
producer = a_producer()
for number in range(500):
    producer.send(a_message(topic=TOPIC, sharding_key=str(number)))
    if number % 50 == 0:
        gc.collect()
wait_for(lambda: len(handled) == 500)
print("handled")
""")

    assert lines[0] == "handled"


def test_whatever_goes_wrong_inside_the_message_comes_again() -> None:
    lines = run("""
from pragmatic_ddd_rocketmq import native_consumer
copied, calls = native_consumer.copied, []
def fail_first(*arguments):
    calls.append(arguments)
    if len(calls) == 1:
        raise KeyboardInterrupt
    return copied(*arguments)
native_consumer.copied = fail_first
a_consumer().start()
a_producer().send(a_message(topic=TOPIC))
wait_for(lambda: handled)
print("handled after", len(calls))
""")

    assert lines[0].startswith("ERROR consumer of")
    assert "handled after 2" in lines


def test_a_stopped_consumer_takes_nothing_and_loses_nothing() -> None:
    lines = run("""
group = unique("group")
consumer = a_consumer(group=group)
consumer.start()
producer = a_producer()
producer.send(a_message(topic=TOPIC))
wait_for(lambda: handled)
consumer.close(within=timedelta(seconds=1))
producer.send(a_message(topic=TOPIC))
time.sleep(1)
print("handled", len(handled))
attempt(a_consumer(group=group).start)
""")

    assert "handled 1" in lines
    assert any(line.startswith("WARNING") and "keeps its queues" in line for line in lines)
    assert "holds its queues until the process ends" in lines[-1]


def test_from_2_2_on_a_consumer_is_shut_down_for_good() -> None:
    """Our side of it: the call is made once the handlers are idle, and the group is free."""
    lines = run("""
class Functions:
    def __init__(self, real):
        self.real, self.calls = real, []
    def __getattr__(self, name):
        return getattr(self.real, name)
    def ShutdownPushConsumer(self, handle):
        self.calls.append(handle)
real = a_library()
library = attrs.evolve(real, functions=Functions(real.functions), version_text="VERSION: 2.2.0")
consumer = a_consumer(library=library)
consumer.start()
attempt(consumer.close, within=timedelta(seconds=1))
attempt(consumer.close, within=timedelta(seconds=1))
print(len(library.functions.calls))
""")

    assert lines == ["close True", "close True", "1"]


def test_a_shutdown_that_never_returns_is_given_up() -> None:
    lines = run("""
from pragmatic_ddd_rocketmq import native_consumer
native_consumer._SHUTDOWN_BOUND = timedelta(seconds=0.2)
class Functions:
    def __init__(self, real):
        self.real = real
    def __getattr__(self, name):
        return getattr(self.real, name)
    def ShutdownPushConsumer(self, handle):
        time.sleep(1000)
real = a_library()
consumer = a_consumer(library=attrs.evolve(real, functions=Functions(real.functions),
                                           version_text="VERSION: 2.2.0"))
consumer.start()
attempt(consumer.close, within=timedelta(seconds=1))
""")

    assert lines[-1] == "close False"


@needs_a_counted_heap
def test_memory_stays_flat_over_many_messages() -> None:
    lines = run(
        """
from tests.adapters.rocketmq.heap import allocated_bytes
count = 0
lock = threading.Lock()
def handle(message):
    global count
    with lock:
        count += 1
a_consumer(handler=handle, properties=["tenant"]).start()
producer = a_producer()
def send(number_of_messages):
    expected = count + number_of_messages
    for number in range(number_of_messages):
        producer.send(a_message(topic=TOPIC, body=b"x" * 1000, sharding_key=str(number),
                                properties={"tenant": "acme"}))
    wait_for(lambda: count == expected)
send(1000)
before = allocated_bytes()
send(1000)
print(allocated_bytes() - before)
""",
        timeout=100,
        environment=COUNTED,
    )

    assert int(lines[0]) < 1000 * 64
