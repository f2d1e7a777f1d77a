"""What becomes of received events where the broker contract says nothing."""

import datetime as dt
import logging
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import attrs
import pytest

from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import Delivery
from pragmatic_ddd.testing.parcel_desk import first_times
from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcEventManager
from pragmatic_ddd_rocketmq_grpc.dead_letters import (
    ATTEMPTS,
    DIED_AT,
    ERROR,
    ORIGINAL_MESSAGE_ID,
    ORIGINAL_OFFSET,
    ORIGINAL_QUEUE,
    ORIGINAL_TOPIC,
)
from tests.adapters.rocketmq_grpc import child
from tests.adapters.rocketmq_grpc.shop import (
    BRIEFLY_INVISIBLE,
    OrderPaid,
    a_group,
    a_stored_event,
    a_topic,
    an_event_manager,
    unique,
)
from tests.services.admin import MessageType, create_consumer_group, create_topic
from tests.services.rocketmq_messages import stored_messages
from tests.services.service import Service

pytestmark = pytest.mark.service("rocketmq-grpc")

_PATIENCE_SECONDS = 60.0


@pytest.fixture
def calls() -> SubscriberCalls:
    return SubscriberCalls()


def a_consumer(topic: str, calls: SubscriberCalls, **changes: object) -> RocketMqGrpcEventManager:
    manager = an_event_manager(topic, **{"consumer_group": a_group(), **changes})
    manager.register_subscriber("note", OrderPaid, lambda event: calls.add("note", event))
    return manager


def _briefly(proxy: Service) -> dict[str, Any]:
    """Return settings with which messages come again sooner than a proxy of others allows."""
    return {
        "endpoints": proxy.server.ports[0].address,
        "invisible_time": BRIEFLY_INVISIBLE,
    }


def publish(events: RocketMqGrpcEventManager, totals: range, *, of: str = "order-1") -> None:
    for total in totals:
        events.publish(OrderPaid(aggregate_id=of, total=total))


def totals(calls: SubscriberCalls, count: int) -> list[int]:
    found = calls.wait_for(count, _PATIENCE_SECONDS)
    return [event.total for _, event in found if isinstance(event, OrderPaid)]


def test_thousands_of_events_arrive_in_the_order_of_each_aggregate(
    topic: str, calls: SubscriberCalls
) -> None:
    aggregates = [f"order-{number}" for number in range(60)]
    with a_consumer(topic, calls) as events:
        for total in range(40):
            stored = [
                a_stored_event(
                    aggregate_id=of,
                    payload=f'{{"aggregate_id":"{of}","total":{total}}}'.encode(),
                )
                for of in aggregates
            ]
            events.publish_many(stored)
        found = calls.wait_for(2400, _PATIENCE_SECONDS)

    arrived = defaultdict(list)
    for _, event in found:
        assert isinstance(event, OrderPaid)
        arrived[event.aggregate_id].append(event.total)
    assert all(arrived[of] == list(range(40)) for of in aggregates)


@attrs.define
class _Held:
    """A member whose handler is at work until it is told, and another one of its group."""

    events: RocketMqGrpcEventManager
    other: RocketMqGrpcEventManager
    calls: SubscriberCalls = attrs.field(factory=SubscriberCalls)
    begun: threading.Event = attrs.field(factory=threading.Event)
    go_on: threading.Event = attrs.field(factory=threading.Event)

    def handle(self, event: OrderPaid) -> None:
        if event.total == 0:
            self.begun.set()
            self.go_on.wait(_PATIENCE_SECONDS)
        self.calls.add("slow", event)


def _a_member_at_work(stack: ExitStack, proxy: Service) -> _Held:
    topic = a_topic()
    settings = {"consumer_group": a_group(), **_briefly(proxy)}
    waiting = dt.timedelta(seconds=_PATIENCE_SECONDS)
    held = _Held(
        an_event_manager(topic, shutdown_timeout=waiting, **settings),
        an_event_manager(topic, **settings),
    )
    held.events.register_subscriber("slow", OrderPaid, held.handle)
    held.other.register_subscriber("slow", OrderPaid, lambda event: held.calls.add("other", event))
    stack.enter_context(held.events)
    publish(held.events, range(3))
    assert held.begun.wait(_PATIENCE_SECONDS)
    stack.enter_context(held.other)
    return held


def test_a_handler_that_outlasts_the_invisible_time_is_not_called_beside_itself(
    proxy: Service,
) -> None:
    """What is in hand is extended, and the events behind it; also while a member is shut down.

    Both are tried at once, to wait once.
    """
    with ExitStack() as stack:
        running, leaving = (_a_member_at_work(stack, proxy) for _ in range(2))
        shutdown = threading.Thread(target=leaving.events.shutdown)
        shutdown.start()
        _hold(
            3 * BRIEFLY_INVISIBLE.total_seconds(),
            lambda: running.calls.so_far() == leaving.calls.so_far() == [],
        )
        for each in (running, leaving):
            each.go_on.set()
        shutdown.join()

        assert totals(running.calls, 3) == [0, 1, 2]
        assert next(code for code, _ in running.calls.so_far()) == "slow"
        assert totals(leaving.calls, 3) == [0, 1, 2]
        assert [code for code, _ in leaving.calls.so_far()] == ["slow", "other", "other"]


def test_the_events_of_a_killed_process_come_again_and_keep_their_order(
    topic: str, calls: SubscriberCalls, proxy: Service
) -> None:
    group = a_group()
    settings = _briefly(proxy)
    script = f"""
        manager = an_event_manager({topic!r}, consumer_group={group!r}, **{settings!r})
        def handle(event):
            if event.total == 2:
                print("at work", flush=True)
                threading.Event().wait()
        manager.register_subscriber("note", OrderPaid, handle)
        manager.start()
        print("started", flush=True)
        threading.Event().wait()
    """
    with child.started(script) as killed, an_event_manager(topic) as publisher:
        killed.wait_for_line("started")
        publish(publisher, range(6))
        killed.wait_for_line("at work")
        killed.process.kill()
        killed.process.wait()

    with a_consumer(topic, calls, consumer_group=group, **settings):
        _wait_until(lambda: any(_total(event) == 5 for _, event in calls.so_far()))
    found = [event.total for _, event in calls.so_far() if isinstance(event, OrderPaid)]
    assert found[-4:] == [2, 3, 4, 5]
    assert found == sorted(found)  # what was not acknowledged comes again, before what follows


def test_a_member_that_was_stopped_leaves_to_others_what_came_meanwhile(
    topic: str, calls: SubscriberCalls, proxy: Service
) -> None:
    """What its request had brought lies at its connection, and is another member's by now."""
    group = a_group()
    settings = _briefly(proxy)
    script = f"""
        manager = an_event_manager({topic!r}, consumer_group={group!r}, **{settings!r})
        manager.register_subscriber("note", OrderPaid, lambda event: print("total", event.total))
        manager.start()
        print("started", flush=True)
        threading.Event().wait()
    """
    with child.started(script) as stopped, an_event_manager(topic) as publisher:
        stopped.wait_for_line("started")
        publish(publisher, range(1))
        stopped.wait_for_line("total 0")
        stopped.process.send_signal(signal.SIGSTOP)
        publish(publisher, range(1, 4))
        with a_consumer(topic, calls, consumer_group=group, **settings):
            _wait_until(lambda: any(_total(event) == 3 for _, event in calls.so_far()))
        stopped.process.send_signal(signal.SIGCONT)
        publish(publisher, range(4, 5))
        stopped.wait_for_line("total 4")

    shown = [line for line in stopped.output if line.startswith("total")]
    assert shown == ["total 0", "total 4"]


def test_what_waits_behind_an_event_that_kills_its_process_is_not_counted_with_it(
    topic: str, calls: SubscriberCalls, proxy: Service
) -> None:
    """The broker gives up what it has given out too often: here after the second time."""
    group = a_group()
    settings = _briefly(proxy)
    create_consumer_group(group, orderly=True, max_retries=1)
    script = f"""
        manager = an_event_manager({topic!r}, consumer_group={group!r}, **{settings!r})
        def handle(event):
            print("total", event.total, flush=True)
            if event.total == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        manager.register_subscriber("note", OrderPaid, handle)
        manager.start()
        threading.Event().wait()
    """
    with an_event_manager(topic) as publisher:
        publish(publisher, range(5))
    for _ in range(2):
        with child.started(script) as killed:
            killed.wait_for_line("total 0")
            killed.process.wait(_PATIENCE_SECONDS)

    with a_consumer(topic, calls, consumer_group=group, **settings):
        assert totals(calls, 4) == [1, 2, 3, 4]


def test_a_restarted_proxy_does_not_leave_its_consumers_standing(
    topic: str, calls: SubscriberCalls, proxy: Service
) -> None:
    """The client by itself would receive nothing for ten minutes."""
    with a_consumer(topic, calls, endpoints=proxy.server.ports[0].address) as events:
        publish(events, range(3))
        assert totals(calls, 3) == [0, 1, 2]

        proxy.kill()
        proxy.start()
        with an_event_manager(topic) as publisher:
            publish(publisher, range(3, 6))

        # What the dead proxy had not heard of comes once more, before what follows.
        _wait_until(lambda: any(_total(event) == 5 for _, event in calls.so_far()))
        assert first_times(totals(calls, 6)) == [0, 1, 2, 3, 4, 5]


def test_a_frozen_proxy_is_waited_for(topic: str, calls: SubscriberCalls, proxy: Service) -> None:
    process = proxy.process
    assert process is not None
    with a_consumer(topic, calls, endpoints=proxy.server.ports[0].address) as events:
        publish(events, range(2))
        assert totals(calls, 2) == [0, 1]
        process.send(signal.SIGSTOP)
        try:
            with an_event_manager(topic) as publisher:
                publish(publisher, range(2, 4))
            _hold(1.0, lambda: len(calls.so_far()) == 2)
        finally:
            process.send(signal.SIGCONT)

        assert totals(calls, 4) == [0, 1, 2, 3]


def test_a_dead_letter_says_what_happened_and_where(topic: str) -> None:
    def fail(_: OrderPaid) -> None:
        raise LookupError("out of stock: Größe\n😀 " + "x" * 20_000)

    group = a_group()
    events = an_event_manager(topic, consumer_group=group, max_reconsume_times=1)
    events.register_subscriber("stock", OrderPaid, fail)
    with events:
        events.publish(OrderPaid(aggregate_id="order-1", event_id="two words"))
        _wait_until(lambda: bool(stored_messages(f"{group}-dead-letter")))

    (original,) = stored_messages(topic)
    (letter,) = stored_messages(f"{group}-dead-letter")
    assert letter.body == original.body
    for name in ("TAGS", "KEYS", "__SHARDINGKEY", "ce_id", "ce_type", "ce_subject"):
        assert letter.properties[name] == original.properties[name]
    assert letter.properties[ORIGINAL_TOPIC] == topic
    assert letter.properties[ORIGINAL_MESSAGE_ID] == original.properties["UNIQ_KEY"]
    assert letter.properties[ORIGINAL_QUEUE] == str(original.queue)
    assert letter.properties[ORIGINAL_OFFSET] == "0"
    assert letter.properties[ATTEMPTS] == "2"
    assert "out of stock: Größe 😀" in letter.properties[ERROR]
    assert dt.datetime.fromisoformat(letter.properties[DIED_AT]).tzinfo is not None


def test_a_dead_letter_that_cannot_be_kept_blocks_its_aggregate_and_no_other(
    calls: SubscriberCalls, caplog: pytest.LogCaptureFixture
) -> None:
    """Its topic is missing; nothing is given up until somebody makes it."""
    topic, group = a_topic(8), a_group(with_topics=False)
    events = an_event_manager(
        topic,
        consumer_group=group,
        max_reconsume_times=0,
        reconsume_backoff_cap=dt.timedelta(seconds=0.5),
    )

    def handle(event: OrderPaid) -> None:
        if event.aggregate_id == "bad" and event.total == 0:
            raise LookupError("out of stock")
        calls.add(event.aggregate_id, event)

    events.register_subscriber("stock", OrderPaid, handle)
    with caplog.at_level(logging.ERROR), events:
        publish(events, range(2), of="bad")
        for number in range(16):
            publish(events, range(1), of=f"order-{number}")
        _wait_until(lambda: "could not be made a dead letter" in caplog.text)
        _wait_until(lambda: len(calls.so_far()) >= 8)
        assert "bad" not in [code for code, _ in calls.so_far()]

        create_topic(f"{group}-dead-letter", 1, message_type=MessageType.FIFO)

        _wait_until(lambda: "bad" in [code for code, _ in calls.so_far()])
        assert len(stored_messages(f"{group}-dead-letter")) == 1


def test_a_handler_cannot_end_the_process(topic: str, calls: SubscriberCalls) -> None:
    tries: list[int] = []

    def leave(event: OrderPaid) -> None:
        tries.append(event.total)
        if len(tries) == 1:
            raise SystemExit("a handler cannot end the process")
        calls.add("stays", event)

    events = an_event_manager(topic, consumer_group=a_group())
    events.register_subscriber("leave", OrderPaid, leave)
    with events:
        publish(events, range(1))
        assert totals(calls, 1) == [0]
    assert tries == [0, 0]


def test_a_delayed_event_does_not_come_early(topic: str, calls: SubscriberCalls) -> None:
    delay = dt.timedelta(seconds=1.5)
    came: list[float] = []
    events = an_event_manager(topic, consumer_group=a_group(), delay=delay)

    def note(event: OrderPaid) -> None:
        came.append(time.monotonic())
        calls.add("later", event)

    events.register_subscriber("later", OrderPaid, note, delivery=Delivery.DELAYED)
    sent: list[float] = []
    with events:
        for total in range(5):
            publish(events, range(total, total + 1))
            sent.append(time.monotonic())
            calls.wait_for(total + 1, _PATIENCE_SECONDS)

    waited = [then - before for before, then in zip(sent, came, strict=True)]
    assert min(waited) >= delay.total_seconds() - 0.1
    assert max(waited) < delay.total_seconds() + 10


def test_a_topic_that_comes_into_being_is_consumed(calls: SubscriberCalls) -> None:
    topic = unique("late")
    with a_consumer(topic, calls) as events:
        create_topic(topic, 2, message_type=MessageType.FIFO)
        # The proxy remembers for some seconds that there was none.
        _wait_until(lambda: _is_confirmed(events))

        assert totals(calls, 1) == [0]


def test_a_group_without_order_is_not_consumed_though_the_start_could_not_see_it(
    topic: str,
    calls: SubscriberCalls,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the proxy was away at the start."""
    monkeypatch.setattr(RocketMqGrpcEventManager, "_check_order", lambda *_: None)
    group = a_group()
    create_consumer_group(group, orderly=False)
    with caplog.at_level(logging.ERROR), a_consumer(topic, calls, consumer_group=group) as events:
        publish(events, range(2))
        _wait_until(lambda: "is not orderly" in caplog.text)
        assert calls.so_far() == []


def _is_confirmed(events: RocketMqGrpcEventManager) -> bool:
    try:
        publish(events, range(1))
    except EventPublishError:
        return False
    return True


def _total(event: object) -> int:
    assert isinstance(event, OrderPaid)
    return event.total


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _hold(seconds: float, is_so: Callable[[], bool]) -> None:
    """See that something stays so: that nothing comes has no other sign than that time passes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert is_so()
        time.sleep(0.05)
