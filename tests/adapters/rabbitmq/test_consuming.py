"""Consuming from a real broker: order, retries, dead letters, members of a group, their end."""

import datetime as dt
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import attrs
import pytest

from pragmatic_ddd.ports import Delivery
from pragmatic_ddd_rabbitmq import RabbitMqConfig, RabbitMqEventManager
from tests import servers
from tests.adapters.rabbitmq.shop import (
    OrderPaid,
    OrderPlaced,
    a_stored_event,
    an_event_manager,
    an_order_paid,
    stored,
)
from tests.adapters.rabbitmq.space import Space
from tests.adapters.rabbitmq.waiting import wait_until
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("rabbitmq")


_HEADERS = (1 << 13).to_bytes(2)  # which properties a message has
_MESSAGE_ID = (1 << 7).to_bytes(2)


def _table(fields: bytes) -> bytes:
    return len(fields).to_bytes(4) + fields


@attrs.define(eq=False)
class Warehouse:
    """A subscriber that notes what it does, and fails or waits when it is told to."""

    done: list[tuple[str, int]] = attrs.field(factory=list)
    begun: list[tuple[str, int]] = attrs.field(factory=list)
    overlaps: list[str] = attrs.field(factory=list)
    failing: dict[tuple[str, int], int] = attrs.field(factory=dict)
    gates: dict[tuple[str, int], threading.Event] = attrs.field(factory=dict)
    _in_hand: set[str] = attrs.field(factory=set)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def handle(self, event: OrderPaid) -> None:
        key = event.aggregate_id, event.total
        with self._lock:
            if event.aggregate_id in self._in_hand:
                self.overlaps.append(f"{key}")
            self._in_hand.add(event.aggregate_id)
            self.begun.append(key)
        try:
            if key in self.gates:
                assert self.gates[key].wait(30)
            if self.failing.get(key, 0) > 0:
                self.failing[key] -= 1
                raise LookupError(f"no shelf for {key}")
            with self._lock:
                self.done.append(key)
        finally:
            with self._lock:
                self._in_hand.discard(event.aggregate_id)

    def numbers(self, of: str) -> list[int]:
        return [number for aggregate, number in self.done if aggregate == of]

    def tries(self, of: str) -> list[int]:
        return [number for aggregate, number in self.begun if aggregate == of]


@pytest.fixture
def members() -> Iterator[ExitStack]:
    """Where event managers are started, to be shut down after the test."""
    with ExitStack() as stack:
        yield stack


def a_member(
    members: ExitStack,
    space: Space,
    warehouse: Warehouse,
    **changes: object,
) -> RabbitMqEventManager:
    events = an_event_manager(space.exchange, consumer_group=space.group, **changes)
    events.register_subscriber("warehouse", OrderPaid, warehouse.handle)
    return members.enter_context(events)


def publish(events: RabbitMqEventManager, *numbers: int, of: str = "order-1") -> None:
    for number in numbers:
        events.publish_stored(stored(an_order_paid(number, of=of)))


def test_what_fails_is_tried_again_in_place_while_others_go_on(
    members: ExitStack, space: Space
) -> None:
    warehouse = Warehouse(failing={("order-1", 1): 1000})
    events = a_member(members, space, warehouse, max_attempts=50)

    for number in (1, 2, 3):
        publish(events, number, of="order-1")
        publish(events, number, of="order-2")
    wait_until(lambda: warehouse.numbers("order-2") == [1, 2, 3], lambda: warehouse.begun)
    wait_until(lambda: len(warehouse.tries("order-1")) > 2, lambda: warehouse.begun)
    warehouse.failing.clear()

    wait_until(lambda: warehouse.numbers("order-1") == [1, 2, 3], lambda: warehouse.done)
    tries = warehouse.tries("order-1")
    assert tries == [1] * (len(tries) - 2) + [2, 3]
    assert not warehouse.overlaps


def test_an_aggregate_that_waits_fills_no_more_than_its_share_of_the_prefetch(
    members: ExitStack, space: Space
) -> None:
    warehouse = Warehouse(failing={("order-1", 1): 2})
    events = a_member(members, space, warehouse, prefetch=2)

    publish(events, *range(1, 6))

    wait_until(lambda: warehouse.numbers("order-1") == [1, 2, 3, 4, 5], lambda: warehouse.done)
    assert warehouse.tries("order-1") == [1, 1, 1, 2, 3, 4, 5]


def test_what_keeps_failing_becomes_a_dead_letter_that_says_why(
    members: ExitStack, space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = Warehouse(failing={("order-1", 1): 99})
    events = a_member(members, space, warehouse)
    message = stored(an_order_paid(1))

    with caplog.at_level(logging.WARNING):
        events.publish_stored(message)
        publish(events, 2)
        wait_until(lambda: warehouse.numbers("order-1") == [2], lambda: warehouse.begun)

    (letter,) = space.client.messages(f"{space.group}-dead-letter")
    assert letter.body == message.payload
    assert letter.routing_key == "shop.order.paid"
    assert letter.properties["message_id"] == message.message_id
    assert letter.headers["cloudEvents_id"] == message.message_id
    assert letter.headers["dead_letter_attempts"] == "3"
    assert "no shelf for" in letter.headers["dead_letter_error"]
    assert letter.headers["dead_letter_exchange"] == space.exchange
    assert letter.headers["dead_letter_queue"] == space.group
    died_at = dt.datetime.fromisoformat(letter.headers["dead_letter_at"])
    assert abs(dt.datetime.now(dt.UTC) - died_at) < dt.timedelta(minutes=1)
    assert "is a dead letter after 3 tries" in caplog.text
    assert warehouse.tries("order-1") == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        (_HEADERS + _table(b"\x02atT" + (1_750_000_000_000).to_bytes(8)), "year"),
        (_MESSAGE_ID + b"\x02\xc3\x28", "utf-8"),
        (_HEADERS + _table(b"\x02atT" + b"\xff" * 8), ""),
    ],
    ids=["a time in milliseconds", "an id that is no text", "a time beyond all time"],
)
@pytest.mark.parametrize("body", [b"{}", b""])
def test_a_message_that_the_client_cannot_read_is_a_dead_letter_and_ends_nothing(
    members: ExitStack, space: Space, properties: bytes, said: str, body: bytes
) -> None:
    warehouse = Warehouse()
    events = a_member(members, space, warehouse)
    publish(events, 1)

    space.client.publish_raw(space.exchange, "shop.order.paid", body, properties)
    publish(events, 2)

    wait_until(lambda: warehouse.numbers("order-1") == [1, 2], lambda: warehouse.done)
    queue = f"{space.group}-dead-letter"
    wait_until(lambda: space.client.ready(queue) == 1)
    (letter,) = space.client.messages(queue)
    assert letter.body == body
    assert letter.headers["dead_letter_attempts"] == "1"
    assert said in letter.headers["dead_letter_error"]
    assert "field properties" in letter.headers["dead_letter_error"]


def test_what_came_together_with_an_answer_is_not_left_until_the_next_heartbeat(
    members: ExitStack, space: Space
) -> None:
    """Events that wait for a consumer come right behind the answer that it may consume."""
    publisher = members.enter_context(an_event_manager(space.exchange))
    a_member(ExitStack(), space, Warehouse()).shutdown()  # makes the queue
    for number in range(8):
        publish(publisher, number)
        warehouse = Warehouse()
        events = an_event_manager(
            space.exchange, consumer_group=space.group, heartbeat=dt.timedelta(minutes=1)
        )
        events.register_subscriber("warehouse", OrderPaid, warehouse.handle)
        with events:
            wait_until(lambda of=warehouse: bool(of.done), within=10)  # type: ignore[misc]


def test_a_header_whose_name_is_no_text_ends_nothing(members: ExitStack, space: Space) -> None:
    warehouse = Warehouse()
    events = a_member(members, space, warehouse)

    properties = _HEADERS + _table(b"\x01\xffS\x00\x00\x00\x01x")
    space.client.publish_raw(space.exchange, "shop.order.paid", b"{}", properties)
    publish(events, 1)

    wait_until(lambda: warehouse.numbers("order-1") == [1], lambda: warehouse.done)


def test_a_dead_letter_sent_to_the_group_s_exchange_comes_to_the_group_alone(
    members: ExitStack, space: Space
) -> None:
    everything = space.keep_everything()
    warehouse = Warehouse(failing={("order-1", 1): 3})
    events = a_member(members, space, warehouse)
    publish(events, 1)
    queue = f"{space.group}-dead-letter"
    wait_until(lambda: space.client.ready(queue) == 1)

    (letter,) = space.client.messages(queue)
    space.client.publish(space.group, letter.routing_key, letter.body, letter.headers)

    wait_until(lambda: warehouse.numbers("order-1") == [1])
    assert space.client.ready(everything) == 1


def test_as_long_as_a_dead_letter_cannot_be_sent_its_event_stays(
    members: ExitStack, space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = Warehouse(failing={("order-1", 1): 99})
    events = a_member(members, space, warehouse)
    letters = f"{space.group}-dead-letter"
    space.client.delete([], [letters])

    with caplog.at_level(logging.ERROR):
        publish(events, 1, 2)
        wait_until(lambda: "could not be made a dead letter" in caplog.text)
    assert warehouse.numbers("order-1") == []
    space.client.exchange(letters, "fanout")
    space.client.bind(letters, letters)

    wait_until(lambda: warehouse.numbers("order-1") == [2])
    assert space.client.ready(letters) == 1
    assert warehouse.tries("order-1") == [1, 1, 1, 2]


def test_one_member_is_active_and_when_it_leaves_the_next_one_goes_on_in_order(
    members: ExitStack, space: Space
) -> None:
    first, second = Warehouse(), Warehouse()
    leaving = a_member(members, space, first)
    a_member(members, space, second)
    publisher = members.enter_context(an_event_manager(space.exchange))

    def publish_on() -> None:
        for number in range(400):
            publish(publisher, number, of=f"order-{number % 4}")

    thread = threading.Thread(target=publish_on)
    thread.start()
    wait_until(lambda: len(first.done) > 50)
    assert not second.begun
    leaving.shutdown()
    thread.join()

    wait_until(lambda: len(first.done) + len(second.done) >= 400, lambda: second.done)
    for order in range(4):
        of = f"order-{order}"
        assert first.numbers(of) + second.numbers(of) == list(range(order, 400, 4))


def test_an_event_in_hand_at_the_shutdown_is_finished_and_the_rest_goes_to_the_next_member(
    members: ExitStack, space: Space
) -> None:
    """Nothing of an aggregate begins elsewhere while the leaving member has an event of it."""
    gate = threading.Event()
    first = Warehouse(gates={("order-1", 1): gate})
    leaving = a_member(members, space, first)
    second = Warehouse()
    a_member(members, space, second)
    publish(leaving, 1, 2, 3)
    wait_until(lambda: first.begun == [("order-1", 1)])

    shutting_down = threading.Thread(target=leaving.shutdown)
    shutting_down.start()
    wait_until(lambda: leaving._consumer is not None and _is_closed(leaving))
    assert not second.begun
    gate.set()
    shutting_down.join(10)

    wait_until(lambda: second.numbers("order-1") == [2, 3], lambda: second.done)
    assert first.done == [("order-1", 1)]
    assert second.begun == [("order-1", 2), ("order-1", 3)]


def _is_closed(events: RabbitMqEventManager) -> bool:
    assert events._consumer is not None
    return events._consumer._consumer._lanes._is_closed


def test_a_handler_that_does_not_end_keeps_no_shutdown(
    members: ExitStack, space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    first = Warehouse(gates={("order-1", 1): gate})
    leaving = a_member(members, space, first, shutdown_timeout=dt.timedelta(milliseconds=300))
    publish(leaving, 1, 2)
    wait_until(lambda: len(first.begun) == 1)

    begun = time.monotonic()
    with caplog.at_level(logging.ERROR):
        leaving.shutdown()

    assert time.monotonic() - begun < 3
    assert "a handler is still at work" in caplog.text
    second = Warehouse()
    a_member(members, space, second)
    wait_until(lambda: second.numbers("order-1") == [1, 2], lambda: second.done)
    gate.set()


def test_several_queues_are_shared_among_members_and_keep_each_aggregate_in_order(
    members: ExitStack, space: Space
) -> None:
    warehouses = [Warehouse(), Warehouse()]
    events = [a_member(members, space, each, queues=4) for each in warehouses]
    aggregates = [f"order-{number}" for number in range(40)]

    for number in range(5):
        for of in aggregates:
            publish(events[0], number, of=of)

    wait_until(lambda: sum(len(each.done) for each in warehouses) == 200)
    for of in aggregates:
        assert sorted(each.numbers(of) for each in warehouses) == [[], [0, 1, 2, 3, 4]]
    assert all(space.client.has_queue(f"{space.group}-{number}") for number in range(1, 5))


def test_messages_of_a_lost_connection_come_again_in_order(
    members: ExitStack, space: Space
) -> None:
    server = urlsplit(servers.rabbitmq_url())
    gate = threading.Event()
    warehouse = Warehouse(gates={("order-1", 1): gate})
    with TcpGate((server.hostname or "", server.port or 0)) as way:
        url = f"amqp://guest:guest@127.0.0.1:{way.port}/"
        a_member(members, space, warehouse, url=url)
        publisher = members.enter_context(an_event_manager(space.exchange))
        publish(publisher, 1, 2, 3)
        wait_until(lambda: warehouse.begun == [("order-1", 1)])

        way.cut()
        publish(publisher, 4)
        gate.set()

        wait_until(lambda: warehouse.numbers("order-1")[-1:] == [4], lambda: warehouse.done)
        members.close()
    assert list(dict.fromkeys(warehouse.numbers("order-1"))) == [1, 2, 3, 4]
    assert not warehouse.overlaps


def test_a_deleted_queue_is_made_again(
    members: ExitStack, space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = Warehouse()
    events = a_member(members, space, warehouse)
    with caplog.at_level(logging.WARNING):
        space.client.delete([space.group], [])
        wait_until(lambda: "delivers queue" in caplog.text)

    wait_until(lambda: space.client.has_queue(space.group))

    def is_taken() -> bool:
        answer = events.publish_many([a_stored_event(payload=_payload(7))])[0]
        return not isinstance(answer, Exception)

    wait_until(is_taken)
    wait_until(lambda: warehouse.numbers("order-1") == [7])


def test_a_new_member_binds_the_group_again_to_an_exchange_that_was_deleted(
    members: ExitStack, space: Space
) -> None:
    warehouse = Warehouse()
    publisher = members.enter_context(an_event_manager(space.exchange))
    a_member(ExitStack(), space, Warehouse()).shutdown()
    space.client.delete([], [space.exchange])
    a_member(members, space, warehouse)

    publish(publisher, 1)

    wait_until(lambda: warehouse.numbers("order-1") == [1])


def _payload(number: int) -> bytes:
    return stored(an_order_paid(number)).payload


def test_a_delayed_copy_waits_in_a_queue_of_its_own(members: ExitStack, space: Space) -> None:
    moments: list[tuple[str, float]] = []
    delay = dt.timedelta(milliseconds=300)
    events = an_event_manager(space.exchange, consumer_group=space.group, delay=delay)
    events.register_subscriber("now", OrderPaid, lambda _: moments.append(("now", time.time())))
    events.register_subscriber(
        "later",
        OrderPaid,
        lambda _: moments.append(("later", time.time())),
        delivery=Delivery.DELAYED,
    )
    members.enter_context(events)

    publish(events, 1)

    wait_until(lambda: len(moments) == 2, lambda: moments)
    assert [code for code, _ in moments] == ["now", "later"]
    assert moments[1][1] - moments[0][1] >= 0.2
    assert space.client.has_queue(f"{space.group}-delay-300")


def test_former_names_of_events_are_bound_too(members: ExitStack, space: Space) -> None:
    warehouse = Warehouse()
    events = a_member(members, space, warehouse)

    events.publish_stored(attrs.evolve(stored(an_order_paid(1)), event_type="shop.order.settled"))

    wait_until(lambda: warehouse.numbers("order-1") == [1])


def test_events_that_nobody_wants_do_not_come(members: ExitStack, space: Space) -> None:
    space.keep_everything()
    warehouse = Warehouse()
    events = a_member(members, space, warehouse)

    events.publish(OrderPlaced(aggregate_id="order-1"))
    publish(events, 1)

    wait_until(lambda: warehouse.numbers("order-1") == [1])
    assert space.client.ready(space.everything) == 2


def test_who_came_back_too_often_is_given_up_and_the_others_are_not(
    members: ExitStack, space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    """A message that ends its process comes back each time; those behind it come with it."""
    warehouse = Warehouse()
    publisher = members.enter_context(an_event_manager(space.exchange))
    a_member(ExitStack(), space, Warehouse()).shutdown()  # makes the queue
    publish(publisher, 1, of="order-1")
    publish(publisher, 2, of="order-2")
    for _ in range(4):
        space.client.take_and_give_back(space.group)

    with caplog.at_level(logging.ERROR):
        a_member(members, space, warehouse)
        wait_until(lambda: bool(warehouse.done), lambda: warehouse.begun)

    assert warehouse.begun == [("order-2", 2)]
    (letter,) = space.client.messages(f"{space.group}-dead-letter")
    assert letter.headers["cloudEvents_subject"] == "order-1"
    assert "came back" in letter.headers["dead_letter_error"]


def test_the_config_says_what_sent_means(space: Space) -> None:
    for name in ("quorum", "classic"):
        events = an_event_manager(space.exchange, durability=name)
        assert events.durability.name == name
    assert an_event_manager(space.exchange).durability.survives_power_loss
    assert RabbitMqConfig(url="amqp://rabbit").durability == "quorum"
