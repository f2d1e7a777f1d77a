"""What becomes of a received event, whatever broker brought it."""

import logging
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.event_origin import origin_of
from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    Dispatcher,
    EventConsumption,
    ReceivedEvent,
    SubscriberRegistry,
    SubscribersFailedError,
    event_consumption,
    is_final,
)
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import (
    EventDeserializationError,
    PragmaticError,
    UnknownEventTypeError,
    UnplacedEventError,
)
from pragmatic_ddd.ports import Delivery, OutboxMessage, Subscriber
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

GROUP = "shop"
WHERE = "message 7 of topic shop"


class OrderPaid(DomainEvent, name="shop.order.paid", aliases=("shop.order.settled",)):
    total: int = 0


class OrderSent(DomainEvent, name="shop.order.sent"):
    """One that this process knows, and nobody here wants."""


class Blank:
    """A serializer that cannot tell which events it knows."""

    def serialize(self, event: DomainEvent) -> bytes:
        raise NotImplementedError

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        raise NotImplementedError


class Consumer:
    """A consumption whose subscribers note that they were called."""

    def __init__(self, *, delays: bool = False) -> None:
        self.called: list[str] = []
        self.fails: dict[str, Exception] = {}
        self.later: list[tuple[ReceivedEvent, str]] = []
        self.metrics = CountingMetrics()
        self.serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPaid, OrderSent))
        self.registry = SubscriberRegistry()
        self.consumption = EventConsumption(
            group=GROUP,
            names={"shop.order.paid": "shop.order.paid", "shop.order.settled": "shop.order.paid"},
            registry=self.registry,
            dispatcher=Dispatcher(self.registry, self.metrics),
            serializer=self.serializer,
            metrics=self.metrics,
            delay=self.delay if delays else None,
        )

    def add(self, code: str, *depends_on: str, delivery: Delivery = Delivery.IMMEDIATE) -> None:
        def handle(_: OrderPaid) -> None:
            self.called.append(code)
            if code in self.fails:
                raise self.fails[code]

        self.registry.register_subscriber(
            code, OrderPaid, handle, depends_on=depends_on, delivery=delivery
        )

    def delay(self, received: ReceivedEvent, subscriber: Subscriber) -> None:
        if "delay" in self.fails:
            raise self.fails["delay"]
        self.later.append((received, subscriber.code))

    def received(self, **changes: Any) -> ReceivedEvent:  # noqa: ANN401
        message = EventEncoding(serializer=self.serializer).encode(
            OrderPaid(aggregate_id="order-1"), aggregate_type="shop.order"
        )
        return ReceivedEvent(message=message, **changes)

    def handle(self, received: ReceivedEvent | None = None, **changes: Any) -> list[str]:  # noqa: ANN401
        """Handle an event; return whom this has called."""
        self.called.clear()
        event = received or self.received()
        arguments = {"key": "7", "final": False, "where": WHERE, **changes}
        try:
            self.consumption.handle(event.message.event_type, lambda: event, **arguments)
        finally:
            called = list(self.called)
        return called


@pytest.fixture
def consumer() -> Consumer:
    return Consumer()


def _raise(error: Exception) -> Callable[[], ReceivedEvent]:
    def read() -> ReceivedEvent:
        raise error

    return read


def test_subscribers_are_called_in_the_order_of_their_dependencies(consumer: Consumer) -> None:
    consumer.add("then", "first")
    consumer.add("first")

    assert consumer.handle() == ["first", "then"]


def test_a_former_name_reaches_the_subscribers(consumer: Consumer) -> None:
    consumer.add("mail")

    consumer.consumption.handle(
        "shop.order.settled", consumer.received, key="7", final=False, where=WHERE
    )

    assert consumer.called == ["mail"]


def test_what_has_succeeded_is_not_called_again_for_the_same_message(consumer: Consumer) -> None:
    consumer.add("steady")
    consumer.add("fails")
    consumer.add("after", "fails")
    consumer.fails["fails"] = ValueError("not yet")

    with pytest.raises(SubscribersFailedError, match="fails: ValueError: not yet") as caught:
        consumer.handle()
    assert consumer.called == ["steady", "fails"]
    assert isinstance(caught.value.__cause__, ValueError)
    assert isinstance(caught.value, PragmaticError)
    assert caught.value.retryable
    assert str(caught.value).startswith(f"event shop.order.paid {caught.value.event_id} failed at ")
    assert not is_final(caught.value)

    consumer.fails.clear()
    assert consumer.handle() == ["fails", "after"]
    assert consumer.handle() == ["steady", "fails", "after"]  # it was done with: it is new


def test_another_message_is_another_matter(consumer: Consumer) -> None:
    consumer.add("steady")
    consumer.add("fails")
    consumer.fails["fails"] = ValueError("not yet")
    with pytest.raises(SubscribersFailedError):
        consumer.handle(key="7")

    with pytest.raises(SubscribersFailedError):
        consumer.handle(key="8")

    assert consumer.called == ["steady", "fails"]


def test_only_so_many_unfinished_messages_are_remembered(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_consumption, "_MOST_UNFINISHED", 2)
    consumer.add("steady")
    consumer.add("fails")
    consumer.fails["fails"] = ValueError("never")
    for key in "789":
        with pytest.raises(SubscribersFailedError):
            consumer.handle(key=key)

    with pytest.raises(SubscribersFailedError):
        consumer.handle(key="9")
    assert consumer.called == ["fails"]
    with pytest.raises(SubscribersFailedError):
        consumer.handle(key="7")
    assert consumer.called == ["steady", "fails"]


@pytest.mark.parametrize("final", [False, True])
def test_a_failure_is_counted_as_final_on_the_last_try(consumer: Consumer, *, final: bool) -> None:
    consumer.add("fails")
    consumer.fails["fails"] = ValueError()

    with pytest.raises(SubscribersFailedError):
        consumer.handle(final=final)

    assert consumer.metrics.count("consume_failed", subscriber="fails", final=final) == 1


def test_what_cannot_be_read_fails_for_every_subscriber_and_for_good(consumer: Consumer) -> None:
    consumer.add("mail")
    consumer.add("stock")
    error = EventDeserializationError("shop.order.paid", "", "no JSON")

    with pytest.raises(EventDeserializationError) as caught:
        consumer.consumption.handle(
            "shop.order.paid", _raise(error), key="7", final=False, where=WHERE
        )

    assert is_final(caught.value)
    assert consumer.metrics.count("consume_failed", final=True) == 2
    assert consumer.called == []


def test_an_event_that_no_inbox_can_place_is_not_tried_again(consumer: Consumer) -> None:
    received = consumer.received()
    consumer.add("counts")
    consumer.fails["counts"] = UnplacedEventError("counts", received.message.message_id, "unsaid")

    with pytest.raises(SubscribersFailedError) as caught:
        consumer.handle(received)

    assert is_final(caught.value)
    assert consumer.metrics.count("consume_failed", subscriber="counts", final=True) == 1
    consumer.fails.clear()
    assert consumer.handle(received) == ["counts"]  # somebody has replayed it


def test_an_event_that_one_inbox_cannot_place_is_tried_again_for_the_others(
    consumer: Consumer,
) -> None:
    received = consumer.received()
    consumer.add("counts")
    consumer.add("fails")
    consumer.fails["counts"] = UnplacedEventError("counts", received.message.message_id, "unsaid")
    consumer.fails["fails"] = ValueError("not yet")

    with pytest.raises(SubscribersFailedError) as caught:
        consumer.handle(received)
    assert not is_final(caught.value)
    assert consumer.called == ["counts", "fails"]

    del consumer.fails["fails"]
    consumer.called.clear()
    with pytest.raises(SubscribersFailedError, match="counts: UnplacedEventError") as caught:
        consumer.handle(received)
    assert is_final(caught.value)
    assert consumer.called == ["fails"]
    assert consumer.metrics.count("consume_failed", subscriber="counts", final=True) == 1
    assert consumer.metrics.count("consume_failed", subscriber="counts", final=False) == 0


def test_after_its_last_try_everybody_who_failed_is_called_when_it_is_replayed(
    consumer: Consumer,
) -> None:
    received = consumer.received()
    consumer.add("succeeds")
    consumer.add("counts")
    consumer.add("fails")
    consumer.fails["counts"] = UnplacedEventError("counts", received.message.message_id, "unsaid")
    consumer.fails["fails"] = ValueError("not yet")
    with pytest.raises(SubscribersFailedError) as caught:
        consumer.handle(received, final=True)
    assert not is_final(caught.value)

    consumer.fails.clear()

    assert consumer.handle(received) == ["counts", "fails"]


@pytest.mark.parametrize(
    "error",
    [
        UnplacedEventError("counts", "one-that-was-fetched", "unsaid"),
        EventDeserializationError("shop.order.paid", "", "one of another system"),
    ],
)
def test_what_may_be_mended_elsewhere_is_tried_again(consumer: Consumer, error: Exception) -> None:
    consumer.add("counts")
    consumer.fails["counts"] = error

    with pytest.raises(SubscribersFailedError) as caught:
        consumer.handle()

    assert not is_final(caught.value)
    assert consumer.metrics.count("consume_failed", subscriber="counts", final=False) == 1


def test_an_event_has_the_id_of_its_message_in_every_try(consumer: Consumer) -> None:
    """A body without one is read with a new one each time."""
    seen: list[OrderPaid] = []
    consumer.registry.register_subscriber("mail", OrderPaid, seen.append)
    message = OutboxMessage(
        message_id="theirs-1",
        aggregate_type="",
        aggregate_id="order-1",
        event_type="shop.order.paid",
        payload=b'{"aggregate_id": "order-1", "total": 5}',
    )

    for key in ("7", "8"):
        consumer.handle(ReceivedEvent(message=message), key=key)

    assert [(event.event_id, event.total) for event in seen] == [("theirs-1", 5)] * 2
    assert [origin_of(event) for event in seen] == [message] * 2


def test_an_id_that_no_event_can_have_makes_the_message_unreadable(consumer: Consumer) -> None:
    consumer.add("mail")
    received = consumer.received()
    odd = attrs.evolve(received, message=attrs.evolve(received.message, message_id="a\nb"))

    with pytest.raises(EventDeserializationError, match="printable") as caught:
        consumer.handle(odd)

    assert caught.value.field == "event_id"
    assert consumer.called == []


def test_a_version_that_is_not_known_yet_may_come_again(consumer: Consumer) -> None:
    consumer.add("mail")
    error = UnknownEventTypeError("shop.order.paid", 2)

    with pytest.raises(UnknownEventTypeError) as caught:
        consumer.consumption.handle(
            "shop.order.paid", _raise(error), key="7", final=False, where=WHERE
        )

    assert not is_final(caught.value)
    assert consumer.metrics.count("consume_failed", final=False) == 1


def test_what_nobody_wants_is_not_read_and_said_once(
    consumer: Consumer, caplog: pytest.LogCaptureFixture
) -> None:
    unread = _raise(AssertionError("it was read"))

    with caplog.at_level(logging.INFO):
        for name in ("shop.order.sent", "shop.order.sent", "shop.unknown", "shop.unknown", "", ""):
            consumer.consumption.handle(name, unread, key="7", final=False, where=WHERE)

    nobody = f"{WHERE}: group shop has no subscriber for"
    renamed = (
        ", nor is that name registered here: such events are passed over, and lost to this "
        "group; is it a new name of one of its events?"
    )
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "INFO",
            f"{nobody} shop.order.sent: such events are passed over",
        ),
        (
            "WARNING",
            f"{nobody} shop.unknown{renamed}",
        ),
        (
            "WARNING",
            f"{WHERE}: it is no event (no attribute type): such messages are passed over",
        ),
    ]


def test_where_the_serializer_cannot_tell_nobody_is_alarmed(
    consumer: Consumer, caplog: pytest.LogCaptureFixture
) -> None:
    consumption = attrs.evolve(consumer.consumption, serializer=Blank())

    with caplog.at_level(logging.INFO):
        consumption.handle("shop.unknown", consumer.received, key="7", final=False, where=WHERE)

    assert [record.levelname for record in caplog.records] == ["INFO"]


def test_only_so_many_unwanted_names_are_told(
    consumer: Consumer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_consumption, "_MOST_UNWANTED_NAMES", 2)

    with caplog.at_level(logging.INFO):
        for number in range(5):
            consumer.consumption.handle(
                f"shop.unknown-{number}", consumer.received, key="7", final=False, where=WHERE
            )

    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("addressee", "called"),
    [
        (EVERYBODY, ["first", "other", "then"]),
        (Addressee(subscriber="first"), ["first", "then"]),
        (Addressee(subscriber="first", only_this=True), ["first"]),
        (Addressee(subscriber="another service's"), []),
        (Addressee(consumer_group=GROUP), ["first", "other", "then"]),
        (Addressee(consumer_group="another"), []),
        (Addressee(subscriber="first", consumer_group="another"), []),
    ],
)
def test_it_reaches_whom_it_is_for(
    consumer: Consumer, addressee: Addressee, called: list[str]
) -> None:
    consumer.add("first")
    consumer.add("other")
    consumer.add("then", "first")

    assert consumer.handle(consumer.received(addressee=addressee)) == called


def test_without_a_delay_a_delayed_subscriber_is_called_like_others(consumer: Consumer) -> None:
    consumer.add("later", delivery=Delivery.DELAYED)

    assert consumer.handle() == ["later"]


def test_a_delayed_subscriber_and_its_followers_wait_for_the_copy() -> None:
    consumer = Consumer(delays=True)
    consumer.add("now")
    consumer.add("later", delivery=Delivery.DELAYED)
    consumer.add("then", "later")
    original = consumer.received(topic="shop-events")

    assert consumer.handle(original) == ["now"]

    [(copy, code)] = consumer.later
    assert code == "later"
    assert copy.message == original.message
    assert copy.topic == "shop-events"
    assert copy.addressee == Addressee(subscriber="later", consumer_group=GROUP)
    assert consumer.handle(copy, key="8") == ["later", "then"]
    assert len(consumer.later) == 1


def test_a_copy_is_ordered_once_however_often_the_original_comes() -> None:
    consumer = Consumer(delays=True)
    consumer.add("later", delivery=Delivery.DELAYED)
    consumer.add("fails")
    consumer.fails["fails"] = ValueError("not yet")

    for _ in range(2):
        with pytest.raises(SubscribersFailedError):
            consumer.handle()

    assert len(consumer.later) == 1


def test_where_no_copy_can_be_ordered_the_message_comes_again() -> None:
    consumer = Consumer(delays=True)
    consumer.add("now")
    consumer.add("later", delivery=Delivery.DELAYED)
    consumer.fails["delay"] = ConnectionError("no broker")

    with pytest.raises(ConnectionError):
        consumer.handle()

    consumer.fails.clear()
    assert consumer.handle() == []
    assert len(consumer.later) == 1
