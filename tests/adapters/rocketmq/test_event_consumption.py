"""What becomes of received events, against a real broker; each consumer is its own process."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd_rocketmq import RocketMqEventManager
from tests.adapters.rocketmq import child
from tests.adapters.rocketmq.shop import (
    OrderPaid,
    OrderPlaced,
    a_message,
    a_stored_event,
    unique,
)
from tests.services.admin import create_topic

pytestmark = pytest.mark.service("rocketmq")


def a_consumer(topic: str, wiring: str, *, group: str | None = None, settings: str = "") -> str:
    """Return a service that consumes until its standard input says so."""
    return f"""
import logging
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
from pragmatic_ddd_rocketmq import leave_process
from pragmatic_ddd.ports.subscribers import (Delivery)
lock = threading.Lock()
def say(*words):
    with lock:
        print(*words, flush=True)
events = an_event_manager({topic!r}, consumer_group={group or unique("shop")!r}, {settings})
{wiring}
events.start()
warm_up(events)
say("started")
sys.stdin.readline()
events.shutdown()
say("shut down")
leave_process(0)
"""


def test_the_events_of_an_aggregate_arrive_in_order(
    events: RocketMqEventManager, topic: str
) -> None:
    """2,000 messages of 50 aggregates, sent from 8 threads, read by another process."""
    wiring = """
def show(event):
    say("paid", event.aggregate_id, event.total)
events.register_subscriber("show", OrderPaid, show)
"""
    lanes = [[f"order-{number}" for number in range(first, 50, 8)] for first in range(8)]

    def send(aggregates: list[str]) -> None:
        for total in range(40):
            for aggregate in aggregates:
                events.publish(OrderPaid(aggregate_id=aggregate, total=total))

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(send, lanes))
        consumer.wait_for(lambda lines: sum(line.startswith("paid") for line in lines) >= 2000)

    arrived = defaultdict(list)
    for line in consumer.output:
        if line.startswith("paid"):
            _, aggregate, total = line.split()
            arrived[aggregate].append(int(total))
    assert len(arrived) == 50
    assert all(totals == list(range(40)) for totals in arrived.values())


def test_values_arrive_as_they_were_sent(events: RocketMqEventManager, topic: str) -> None:
    note = 'Größe 订单 😀 "quoted" \\ back \n line \t tab'
    wiring = """
def show(event):
    say("placed", ascii([event.aggregate_id, event.event_id, event.note]))
events.register_subscriber("show", OrderPlaced, show)
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPlaced(aggregate_id="Kunde Ö 订单", event_id="mit Leer", note=note))
        line = consumer.wait_for_line("placed")

    assert line == f"placed {['Kunde Ö 订单', 'mit Leer', note]!a}"


def test_a_subscriber_that_fails_is_called_again_and_the_others_are_not(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
tries = []
def fail_twice(event):
    tries.append(event)
    say("try", len(tries))
    if len(tries) == 1:
        sys.exit("a handler cannot end the process")
    if len(tries) == 2:
        raise ValueError("not yet")
events.register_subscriber("steady", OrderPaid, lambda event: say("steady"))
events.register_subscriber("fails", OrderPaid, fail_twice)
events.register_subscriber("after", OrderPaid, lambda event: say("after", event.total),
                           depends_on=["fails"])
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=7))
        events.publish(OrderPaid(aggregate_id="order-1", total=8))
        lines = consumer.wait_for(lambda lines: "after 8" in lines)

    assert [line for line in lines if line.startswith(("try", "steady", "after"))] == [
        "steady",
        "try 1",
        "try 2",
        "try 3",
        "after 7",
        "steady",
        "try 4",
        "after 8",
    ]


def test_an_event_that_keeps_failing_becomes_a_dead_letter(
    events: RocketMqEventManager, topic: str
) -> None:
    group = unique("shop")
    create_topic(f"{group}-dead-letter")
    wiring = """
def fail(event):
    if event.total == 1:
        say("try")
        raise ValueError("out of stock: Größe\\n😀")
    say("handled", event.total)
events.register_subscriber("stock", OrderPaid, fail)
"""
    reader = f"""
from pragmatic_ddd_rocketmq.native_consumer import NativeConsumer
from pragmatic_ddd.application.events import Redeliveries
def show(message):
    print("letter", ascii([message.body.decode(), message.sharding_key, message.keys,
                           message.tag, dict(message.properties)]), flush=True)
names = ["dead_letter_" + name for name in
         ("topic", "message_id", "queue", "offset", "attempts", "error", "at")]
NativeConsumer(library=a_library(), name_servers=name_servers(), group=unique("reader"),
               topics=[{group + "-dead-letter"!r}], handler=show, bury=print,
               redeliveries=Redeliveries(max_attempts=1),
               properties=[*names, "ce_type", "ce_id"]).start()
print("started", flush=True)
time.sleep(100)
"""
    settings = "max_reconsume_times=2, reconsume_backoff_base=timedelta(milliseconds=100)"

    with (
        child.started(reader) as letters,
        child.started(a_consumer(topic, wiring, group=group, settings=settings)) as consumer,
    ):
        letters.wait_for_line("started")
        consumer.wait_for_line("started")
        dead = OrderPaid(aggregate_id="order-1", total=1)
        events.publish(dead)
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        consumer.wait_for_line("handled 2")
        letter = letters.wait_for_line("letter")

    assert consumer.output.count("try") == 3
    assert any(line.startswith("ERROR") and "dead letter" in line for line in consumer.output)
    body, sharding_key, keys, tag, properties = eval(letter.removeprefix("letter "))
    assert '"total": 1' in body
    assert (sharding_key, keys, tag) == ("order-1", dead.event_id, "shop.order.paid")
    assert properties["ce_id"] == dead.event_id
    assert properties["dead_letter_topic"] == topic
    assert properties["dead_letter_attempts"] == "3"
    assert properties["dead_letter_offset"] == "0"
    assert "out of stock: Größe 😀" in properties["dead_letter_error"]


def test_an_unreadable_event_is_a_dead_letter_at_once_and_an_unknown_version_is_tried_again(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
events.register_subscriber("show", OrderPaid, lambda event: say("handled", event.total))
"""
    settings = "max_reconsume_times=1, reconsume_backoff_base=timedelta(milliseconds=100)"

    with child.started(a_consumer(topic, wiring, settings=settings)) as consumer:
        consumer.wait_for_line("started")
        events.publish_stored(a_stored_event(payload=b"no json"))
        events.publish_stored(a_stored_event(event_version=2))
        events.publish(OrderPaid(aggregate_id="order-1", total=3))
        lines = consumer.wait_for(lambda lines: "handled 3" in lines)

    letters = [line for line in lines if "is a dead letter" in line]
    assert "after 1 tries" in letters[0]
    assert "after 2 tries" in letters[1]


def test_a_message_is_kept_where_it_cannot_be_made_a_dead_letter(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
from pragmatic_ddd_rocketmq.dead_letters import DeadLetters
from pragmatic_ddd_rocketmq.errors import NotConfirmedError
bury, tries = DeadLetters.bury, []
def fail_first(self, message, failure):
    tries.append(message)
    if len(tries) < 3:
        raise NotConfirmedError("no confirmation")
    bury(self, message, failure)
DeadLetters.bury = fail_first
def fail(event):
    say("try", event.total)
    if event.total == 1:
        raise ValueError("never")
events.register_subscriber("fails", OrderPaid, fail)
"""
    settings = "max_reconsume_times=0, reconsume_backoff_base=timedelta(milliseconds=100)"

    with child.started(a_consumer(topic, wiring, settings=settings)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=1))
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        lines = consumer.wait_for(lambda lines: "try 2" in lines)

    assert lines.count("try 1") == 1  # its tries are over: only the letter is tried again
    assert sum("could not be made a dead letter" in line for line in lines) == 2


def test_what_nobody_subscribes_to_is_passed_over_and_said_once(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
events.register_subscriber("show", OrderPaid, lambda event: say("handled", event.total))
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        for _ in range(3):
            events.publish_stored(a_stored_event(event_type="shop.unknown", payload=b"no json"))
        assert events._producer is not None
        for _ in range(2):
            _send_what_is_no_event(events, topic)
        events.publish(OrderPaid(aggregate_id="order-1", total=3))
        lines = consumer.wait_for(lambda lines: "handled 3" in lines)

    assert sum("no subscriber for shop.unknown" in line for line in lines) == 1
    assert sum("is no event" in line for line in lines) == 1


def _send_what_is_no_event(events: RocketMqEventManager, topic: str) -> None:
    assert events._producer is not None
    events._producer.send(a_message(topic=topic, body=b"hello"))


def test_an_event_for_one_subscriber_is_for_it_and_its_followers(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
for code, before in (("first", []), ("other", []), ("then", ["first"])):
    events.register_subscriber(code, OrderPaid, lambda event, code=code: say(code, event.total),
                               depends_on=before)
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="o", total=1), subscriber="first")
        events.publish(OrderPaid(aggregate_id="o", total=2), subscriber="first", only_this=True)
        events.publish(OrderPaid(aggregate_id="o", total=3), subscriber="another service's")
        events.publish(OrderPaid(aggregate_id="o", total=4))
        lines = consumer.wait_for(lambda lines: "then 4" in lines)

    heard = [line for line in lines if line.startswith(("first", "other", "then"))]
    assert heard == ["first 1", "then 1", "first 2", "first 4", "other 4", "then 4"]


def test_an_event_under_a_former_name_reaches_its_subscribers(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
events.register_subscriber("show", OrderPaid, lambda event: say("handled", event.total))
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish_stored(a_stored_event(event_type="shop.order.settled"))
        events.publish(OrderPaid(aggregate_id="order-1", total=6))
        lines = consumer.wait_for(lambda lines: "handled 6" in lines)

    assert [line for line in lines if line.startswith("handled")] == ["handled 5", "handled 6"]


def test_a_delayed_subscriber_is_called_later_and_blocks_nobody(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
sent = {}
def at_once(event):
    sent[event.total] = time.monotonic()
    say("at once", event.total)
def later(event):
    say("later", event.total, time.monotonic() - sent[event.total] > 0.9)
events.register_subscriber("at once", OrderPaid, at_once)
events.register_subscriber("later", OrderPaid, later, delivery=Delivery.DELAYED)
events.register_subscriber("then", OrderPaid, lambda event: say("then", event.total),
                           depends_on=["later"])
"""

    with child.started(a_consumer(topic, wiring, settings="default_delay_level=1")) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=1))
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        lines = consumer.wait_for(lambda lines: {"then 1", "then 2"} <= set(lines))

    heard = [line for line in lines if line.startswith(("at once", "later", "then"))]
    assert heard[:2] == ["at once 1", "at once 2"]
    assert sorted(heard[2:]) == ["later 1 True", "later 2 True", "then 1", "then 2"]


def test_without_a_delay_level_a_delayed_subscriber_is_called_like_others(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
events.register_subscriber("later", OrderPaid, lambda event: say("later", event.total),
                           delivery=Delivery.DELAYED)
events.register_subscriber("then", OrderPaid, lambda event: say("then", event.total),
                           depends_on=["later"])
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=1))
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        lines = consumer.wait_for(lambda lines: "then 2" in lines)

    heard = [line for line in lines if line.startswith(("later", "then"))]
    assert heard == ["later 1", "then 1", "later 2", "then 2"]


def test_a_handler_may_publish(events: RocketMqEventManager, topic: str) -> None:
    wiring = """
def place(event):
    events.publish(OrderPlaced(aggregate_id=event.aggregate_id, note="follows"))
events.register_subscriber("place", OrderPaid, place)
def show(event):
    say("placed", event.aggregate_id, event.note)
events.register_subscriber("show", OrderPlaced, show)
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1"))
        line = consumer.wait_for_line("placed")

    assert line == "placed order-1 follows"


def test_a_shutdown_waits_for_the_handler_at_work_and_leaves_the_rest(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
def work(event):
    say("begin", event.total)
    time.sleep(0.7)
    say("end", event.total)
events.register_subscriber("work", OrderPaid, work)
"""

    with child.started(a_consumer(topic, wiring)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=1))
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        consumer.wait_for_line("begin 1")
        consumer.tell("")
        consumer.wait_for_line("shut down")
        assert consumer.end() == 0

    assert "end 1" in consumer.output
    assert "begin 2" not in consumer.output


def test_a_handler_that_never_ends_does_not_hold_up_the_end(
    events: RocketMqEventManager, topic: str
) -> None:
    wiring = """
def work(event):
    say("begin")
    time.sleep(1000)
events.register_subscriber("work", OrderPaid, work)
"""

    with child.started(
        a_consumer(topic, wiring, settings="shutdown_timeout=timedelta(seconds=1)")
    ) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1"))
        consumer.wait_for_line("begin")
        consumer.tell("")
        line = consumer.wait_for_line("still at work")
        assert line.startswith("ERROR")
        assert consumer.end() == 0


def test_a_group_that_was_stopped_here_is_not_consumed_again_in_silence(
    events: RocketMqEventManager, topic: str
) -> None:
    """Before 2.2 the stopped consumer keeps its queues: a second one would never get them."""
    wiring = f"""
events.register_subscriber("show", OrderPaid, say)
again = an_event_manager({topic!r}, consumer_group=events.config.consumer_group)
again.register_subscriber("show", OrderPaid, say)
def start_again():
    if a_library().can_shut_down_consumers:
        say("not needed")
        return
    try:
        again.start()
    except Exception as error:
        say(type(error).__name__, error)
"""
    script = a_consumer(topic, wiring).replace(
        "events.shutdown()\n", "events.shutdown()\nstart_again()\n"
    )

    with child.started(script) as consumer:
        consumer.wait_for_line("started")
        consumer.tell("")
        lines = consumer.wait_for(
            lambda lines: any(
                line.startswith(("RocketMqStartError", "not needed")) for line in lines
            )
        )
        assert consumer.end() == 0

    assert any("holds its queues" in line or line == "not needed" for line in lines)


def test_consumed_events_are_counted(events: RocketMqEventManager, topic: str) -> None:
    wiring = """
from pragmatic_ddd_local.counting_metrics import CountingMetrics
class Loud(CountingMetrics):
    def consumed(self, event_type, subscriber): say("consumed", event_type, subscriber)
    def consume_failed(self, event_type, subscriber, *, final):
        say("failed", event_type, subscriber, final)
events.metrics = Loud()
def fail(event):
    if event.total == 1:
        raise ValueError("never")
events.register_subscriber("stock", OrderPaid, fail)
"""
    settings = "max_reconsume_times=1, reconsume_backoff_base=timedelta(milliseconds=100)"

    with child.started(a_consumer(topic, wiring, settings=settings)) as consumer:
        consumer.wait_for_line("started")
        events.publish(OrderPaid(aggregate_id="order-1", total=1))
        events.publish_stored(a_stored_event(payload=b"no json"))
        events.publish(OrderPaid(aggregate_id="order-1", total=2))
        lines = consumer.wait_for(lambda lines: "consumed shop.order.paid stock" in lines)

    assert [line for line in lines if line.startswith("failed")] == [
        "failed shop.order.paid stock False",
        "failed shop.order.paid stock True",
        "failed shop.order.paid stock True",
    ]
