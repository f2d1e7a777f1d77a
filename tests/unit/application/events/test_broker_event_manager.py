"""What every event manager over a broker does alike, with a broker that is a list."""

import datetime as dt
import os
import threading
from collections.abc import Callable, Sequence
from typing import ClassVar

import attrs
import pytest

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.broadcast import IntegrationEvent
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import (
    EVERYBODY,
    Addressee,
    BrokerEventManager,
    ConfigurableTopicResolver,
    ReceivedEvent,
)
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventSerializationError,
    EventUnconfirmedError,
    InfrastructureError,
    SubscriptionError,
)
from pragmatic_ddd.ports import (
    Durability,
    IEventManager,
    IEventSerializer,
    ITopicResolver,
    OutboxMessage,
    PublishPath,
    Receipt,
)
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.forked import exit_codes, in_child
from tests.script import needs_fork

IN_A_LIST = Durability(
    name="list",
    sent_means="It is in a list.",
    survives_process_crash=False,
    survives_power_loss=False,
    survives_node_loss=False,
)


class OrderPaid(DomainEvent, name="shop.order.paid", aliases=("shop.order.settled",)):
    total: int = 0


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    pass


class Untold:
    """A serializer that does not say beforehand what it can read."""

    def serialize(self, event: DomainEvent) -> bytes:
        raise NotImplementedError

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class ListConfig:
    consumer_group: str | None = "shop"


@attrs.define
class ListClient:
    """What the manager is connected to: notes what it is sent, and what it consumes."""

    consumed: list[str]
    sent: list[tuple[str, OutboxMessage, Addressee]] = attrs.field(factory=list)
    is_open: bool = True


@attrs.define(eq=False)
class ListEventManager(BrokerEventManager):
    config_prefix: ClassVar[str] = "list"

    config: ListConfig = attrs.field(validator=of_type(ListConfig))
    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    topics: ITopicResolver = attrs.field(validator=implements(ITopicResolver))
    client: ListClient | None = attrs.field(default=None, init=False)
    fails: Exception | None = attrs.field(default=None, init=False)
    before_connecting: Callable[[], object] | None = attrs.field(default=None, init=False)
    while_connecting: Callable[[], object] | None = attrs.field(default=None, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        return dt.timedelta(seconds=1)

    @property
    def side_by_side(self) -> int:
        return 1

    @property
    def durability(self) -> Durability:
        return IN_A_LIST

    @property
    def _consumer_group(self) -> str | None:
        return self.config.consumer_group

    def _checked_topic(self, topic: str) -> str:
        if "!" in topic:
            raise ValueError(f"topic {topic!r}: without '!'")
        return topic

    def _send(self, message: OutboxMessage, topic: str, addressee: Addressee) -> Receipt:
        if self.client is None or not self.client.is_open:
            raise self._unavailable(message, topic)
        if self.fails is not None:
            raise self.fails
        self.client.sent.append((topic, message, addressee))
        return Receipt(str(len(self.client.sent)))

    def _connect(self, consumed_topics: Sequence[str]) -> None:
        if self.before_connecting is not None:
            self.before_connecting()
        self.client = ListClient(list(consumed_topics))
        if self.while_connecting is not None:
            self.while_connecting()

    def _disconnect(self) -> None:
        if self.fails is not None:
            raise self.fails
        if self.client is not None:
            self.client.is_open = False


def a_manager(
    settings: dict[str, str] | None = None,
    *,
    consumer_group: str | None = "shop",
    serializer: IEventSerializer | None = None,
) -> ListEventManager:
    topics = settings or {"event.topic.default": "shop-events"}
    return ListEventManager(
        ListConfig(consumer_group=consumer_group),
        serializer or OrjsonEventSerializer(EventTypeRegistry(OrderPaid, OrderPlaced)),
        ConfigurableTopicResolver(MappingConfigurationSource(topics)),
        metrics=CountingMetrics(),
    )


def a_stored_event(event_type: str = "shop.order.paid") -> OutboxMessage:
    return OutboxMessage(
        message_id="event-1",
        aggregate_type="shop.order",
        aggregate_id="order-1",
        event_type=event_type,
        payload=b"{}",
    )


def sent_by(manager: ListEventManager) -> list[tuple[str, OutboxMessage, Addressee]]:
    assert manager.client is not None
    return manager.client.sent


def _no_broker() -> None:
    raise InfrastructureError("no broker")


def test_it_is_an_event_manager() -> None:
    manager: IEventManager = a_manager()

    assert manager.side_by_side == 1


def test_a_stored_message_is_sent_as_it_is_to_its_topic() -> None:
    with a_manager({"event.topic.shop.order.paid": "payments"}) as manager:
        assert manager.publish_stored(a_stored_event()) == Receipt("1")

    assert sent_by(manager) == [("payments", a_stored_event(), EVERYBODY)]


def test_a_message_goes_to_the_topic_that_its_caller_names() -> None:
    with a_manager({"event.topic.shop.order.paid": "payments"}) as manager:
        assert manager.publish_to("public", a_stored_event()) == Receipt("1")

    assert sent_by(manager) == [("public", a_stored_event(), EVERYBODY)]


def test_a_topic_that_the_broker_cannot_have_is_the_callers_mistake() -> None:
    with a_manager() as manager, pytest.raises(ValueError, match="topic 'public!': without '!'"):
        manager.publish_to("public!", a_stored_event())

    assert sent_by(manager) == []


def test_what_is_published_to_a_topic_is_counted() -> None:
    manager = a_manager()
    with pytest.raises(BrokerUnavailableError, match="'public'"):
        manager.publish_to("public", a_stored_event())

    with manager:
        manager.publish_to("public", a_stored_event())

    metrics = manager.metrics
    assert isinstance(metrics, CountingMetrics)
    assert metrics.count("published", event_type="shop.order.paid", path=PublishPath.DIRECT) == 1
    assert metrics.count("publish_failed", path=PublishPath.DIRECT) == 1


def test_an_event_that_is_about_nothing_is_not_published() -> None:
    """Such is one of another system's that no message has brought."""

    class OrderPaidElsewhere(IntegrationEvent, name="elsewhere.order-paid"):
        pass

    with a_manager() as manager:
        with pytest.raises(EventSerializationError, match=r"aggregate_id.*it is empty"):
            manager.publish(OrderPaidElsewhere())
        manager.publish(OrderPaidElsewhere(aggregate_id="order-1"))

    assert len(sent_by(manager)) == 1


def test_an_event_is_encoded_as_the_outbox_would() -> None:
    event = OrderPaid(
        aggregate_id="order-1", aggregate_version=3, event_index=1, operation_code="pay", total=7
    )

    with a_manager() as manager:
        manager.publish(event)

    [(_, message, addressee)] = sent_by(manager)
    assert message == OutboxMessage(
        message_id=event.event_id,
        aggregate_type="",
        aggregate_id="order-1",
        aggregate_version=3,
        event_index=1,
        event_type="shop.order.paid",
        payload=manager.serializer.serialize(event),
        headers={"operation-code": "pay"},
    )
    assert addressee is EVERYBODY


def test_an_event_may_be_for_one_subscriber_with_a_topic_of_its_own() -> None:
    settings = {"event.topic.default": "shop-events", "event.topic.subscriber.mail": "mails"}

    with a_manager(settings) as manager:
        manager.publish(OrderPlaced(aggregate_id="1"), subscriber="mail", only_this=True)

    [(topic, message, addressee)] = sent_by(manager)
    assert topic == "mails"
    assert message.aggregate_version is None
    assert message.headers == {}
    assert addressee == Addressee(subscriber="mail", only_this=True)


def test_events_are_published_in_order_up_to_the_first_that_fails() -> None:
    with a_manager({"event.topic.shop.order.paid": "payments"}) as manager:
        assert manager.publish_all([OrderPaid(aggregate_id="1"), OrderPaid(aggregate_id="2")]) == [
            Receipt("1"),
            Receipt("2"),
        ]
        with pytest.raises(EventPublishError):
            manager.publish_all([OrderPlaced(aggregate_id="3"), OrderPaid(aggregate_id="4")])

    assert len(sent_by(manager)) == 2


def test_direct_publishing_is_counted_and_that_of_the_outbox_is_not() -> None:
    with a_manager() as manager:
        manager.publish(OrderPaid(aggregate_id="1"))
        manager.publish_stored(a_stored_event())
        manager.fails = EventUnconfirmedError("event-1", "shop-events", "no answer")
        with pytest.raises(EventUnconfirmedError):
            manager.publish(OrderPaid(aggregate_id="1"))
        with pytest.raises(EventUnconfirmedError):
            manager.publish_stored(a_stored_event())
        manager.fails = None

    metrics = manager.metrics
    assert isinstance(metrics, CountingMetrics)
    assert metrics.count("published") == 1
    assert metrics.count("published", path=PublishPath.DIRECT) == 1
    assert metrics.count("publish_failed") == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"event.topic.other": "x"}, "no topic"), ({"event.topic.default": "a!"}, "without '!'")],
)
def test_a_wrong_topic_kills_no_event(settings: dict[str, str], reason: str) -> None:
    """A setting is wrong, not the event: it may be published once that is mended."""
    with a_manager(settings) as manager, pytest.raises(EventPublishError, match=reason) as caught:
        manager.publish_stored(a_stored_event())
    assert caught.value.retryable


def test_before_the_start_and_after_the_shutdown_nothing_is_sent() -> None:
    manager = a_manager()
    with pytest.raises(BrokerUnavailableError, match="not been started"):
        manager.publish_stored(a_stored_event())

    manager.start()
    client = manager.client
    manager.start()
    assert manager.client is client
    manager.publish_stored(a_stored_event())
    manager.shutdown()
    manager.shutdown()

    with pytest.raises(BrokerUnavailableError, match="shut down"):
        manager.publish_stored(a_stored_event())
    with pytest.raises(InfrastructureError, match="make a new one"):
        manager.start()


def test_handlers_may_publish_while_it_is_being_started() -> None:
    manager = a_manager()
    manager.while_connecting = lambda: manager.publish_stored(a_stored_event())

    with manager:
        assert len(sent_by(manager)) == 1


def test_a_start_that_fails_may_be_repeated() -> None:
    manager = a_manager()
    manager.while_connecting = _no_broker
    with pytest.raises(InfrastructureError, match="no broker"):
        manager.start()
    manager.while_connecting = None

    manager.start()
    assert manager.publish_stored(a_stored_event()).text
    manager.shutdown()


@pytest.mark.parametrize("step", ["before_connecting", "while_connecting"])
def test_what_is_shut_down_while_it_is_being_started_does_not_stay_connected(step: str) -> None:
    manager = a_manager()
    setattr(manager, step, manager.shutdown)

    with pytest.raises(InfrastructureError, match="make a new one"):
        manager.start()

    assert manager.client is not None
    assert not manager.client.is_open


def test_a_shutdown_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    manager = a_manager()
    manager.start()
    manager.fails = ValueError("the client broke")

    manager.shutdown()

    assert "ListEventManager failed to shut down" in caplog.text
    assert "the client broke" in caplog.text
    with pytest.raises(InfrastructureError, match="make a new one"):
        manager.start()


def test_the_topics_of_all_subscribers_are_consumed_once_each() -> None:
    settings = {
        "event.topic.shop.order.paid": "payments",
        "event.topic.shop.order.placed": "orders",
        "event.topic.subscriber.mail": "mails",
    }
    manager = a_manager(settings)
    manager.register_subscriber("mail", OrderPaid, print)
    manager.register_subscriber("stock", OrderPaid, print)
    manager.register_subscriber("mail", OrderPlaced, print)

    with manager:
        assert manager.client is not None
        # The former name of "paid" has no topic any more, which is nothing to complain of.
        assert manager.client.consumed == ["payments", "mails", "orders"]


def test_without_subscribers_nothing_is_consumed_and_no_group_is_needed() -> None:
    with a_manager(consumer_group=None) as manager:
        assert manager.client is not None
        assert manager.client.consumed == []


@pytest.mark.parametrize(
    ("settings", "group", "reason"),
    [
        ({"event.topic.default": "shop-events"}, None, "list.consumer-group: needed"),
        ({"event.topic.default": "a!"}, "shop", "without '!'"),
        ({"event.topic.other": "x"}, "shop", "no topic for shop.order.paid"),
    ],
)
def test_what_cannot_be_consumed_is_refused_at_the_start(
    settings: dict[str, str], group: str | None, reason: str
) -> None:
    manager = a_manager(settings, consumer_group=group)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=reason):
        manager.start()
    assert manager.client is None


def test_a_subscriber_of_what_cannot_be_read_is_refused_at_the_start() -> None:
    registry = EventTypeRegistry(OrderPaid)
    manager = a_manager(serializer=OrjsonEventSerializer(registry))
    manager.register_subscriber("mail", OrderPaid, print)
    manager.register_subscriber("stock", OrderPlaced, print)

    with pytest.raises(SubscriptionError, match=r"'stock' of shop\.order\.placed: "):
        manager.start()

    assert manager.client is None
    registry.register(OrderPlaced)
    with manager:
        assert manager.client is not None


def test_after_that_refusal_more_may_still_be_registered() -> None:
    registry = EventTypeRegistry(OrderPaid)
    manager = a_manager(serializer=OrjsonEventSerializer(registry))
    manager.register_subscriber("stock", OrderPlaced, print)
    with pytest.raises(SubscriptionError, match="cannot read"):
        manager.start()

    registry.register(OrderPlaced)
    manager.register_subscriber("mail", OrderPaid, print)

    with manager:
        assert set(manager.subscribers()) == {"shop.order.placed", "shop.order.paid"}
        assert manager.client is not None


def test_a_serializer_that_cannot_tell_what_it_reads_is_trusted() -> None:
    manager = a_manager(serializer=Untold())
    manager.register_subscriber("stock", OrderPlaced, print)

    with manager:
        assert manager.client is not None


def test_subscribers_are_registered_before_the_start() -> None:
    manager = a_manager()
    manager.register_subscriber("first", OrderPaid, print)
    manager.register_subscriber("then", OrderPaid, print, depends_on=["first"])

    assert [each.code for each in manager.subscribers()["shop.order.paid"]] == ["first", "then"]
    assert manager.dependencies() == {"shop.order.paid": (("first", "then"),)}
    with manager, pytest.raises(SubscriptionError, match="has been started"):
        manager.register_subscriber("late", OrderPaid, print)


def test_what_is_received_reaches_the_subscribers() -> None:
    manager = a_manager()
    called: list[OrderPaid] = []
    manager.register_subscriber("mail", OrderPaid, called.append)
    event = OrderPaid(aggregate_id="order-1")
    with manager:
        manager.publish(event)
        [(_, message, _)] = sent_by(manager)
        manager._consumption("shop").handle(
            message.event_type,
            lambda: ReceivedEvent(message=message),
            key="1",
            final=True,
            where="message 1",
        )

    assert called == [event]


def test_a_forked_child_uses_nothing_of_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = a_manager()
    manager.start()
    monkeypatch.setattr(os, "getpid", lambda: 1)

    with pytest.raises(BrokerUnavailableError, match="before this process was forked"):
        manager.publish_stored(a_stored_event())
    with pytest.raises(InfrastructureError, match="before this process was forked"):
        manager.start()
    manager.shutdown()

    assert manager.client is not None
    assert manager.client.is_open
    assert manager.client.sent == []


def test_what_could_not_be_started_may_be_started_in_a_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = a_manager()
    manager.while_connecting = _no_broker
    with pytest.raises(InfrastructureError):
        manager.start()
    monkeypatch.setattr(os, "getpid", lambda: 1)
    manager.while_connecting = None

    with manager:
        assert manager.publish_stored(a_stored_event()) == Receipt("1")


@needs_fork
def test_a_child_forked_while_it_is_being_started_is_not_stuck() -> None:
    manager = a_manager()

    def shuts_down_in_time() -> None:
        shutting_down = threading.Thread(target=manager.shutdown, daemon=True)
        shutting_down.start()
        shutting_down.join(20)
        assert not shutting_down.is_alive()

    with manager._lock:  # a lock that nobody in the child will let go
        children = [in_child(shuts_down_in_time)]

    assert exit_codes(children) == [0]


def test_a_durability_says_what_sent_means() -> None:
    assert str(a_manager().durability) == "list: It is in a list."
    with pytest.raises(ValueError, match="name"):
        attrs.evolve(IN_A_LIST, name="")


def test_a_sender_is_named_by_a_uri_reference() -> None:
    manager = a_manager()

    assert manager.source == "/"
    with pytest.raises(ValueError, match="URI reference"):
        ListEventManager(manager.config, manager.serializer, manager.topics, source="the shop")
