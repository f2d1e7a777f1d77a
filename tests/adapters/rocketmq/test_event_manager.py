"""The event manager against a real broker."""

import logging

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
    SubscriptionError,
)
from pragmatic_ddd.ports.events import IEventManager
from pragmatic_ddd.ports.metrics import PublishPath
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_local.counting_metrics import CountingMetrics
from pragmatic_ddd_rocketmq import RocketMqEventManager, RocketMqStartError, checked_topic
from tests.adapters.rocketmq.shop import (
    OrderPaid,
    OrderPlaced,
    a_stored_event,
    an_event_manager,
    warm_up,
)

pytestmark = pytest.mark.service("rocketmq")


def test_it_is_an_event_manager(events: RocketMqEventManager) -> None:
    manager: IEventManager = events

    assert manager.side_by_side >= 1
    assert manager.longest_call.total_seconds() == 4


def test_a_stored_message_has_a_receipt(events: RocketMqEventManager, topic: str) -> None:
    receipt = events.publish_stored(a_stored_event())

    assert receipt.text.endswith(f" at offset 0 on {topic}")


def test_an_event_is_published_whether_or_not_anybody_subscribes(
    events: RocketMqEventManager,
) -> None:
    first, second = events.publish_all(
        [OrderPlaced(aggregate_id="order-1"), OrderPaid(aggregate_id="order-1")]
    )

    assert first != second


def test_direct_publishing_is_counted(topic: str) -> None:
    metrics = CountingMetrics()
    manager = an_event_manager(topic)
    manager.metrics = metrics
    with manager:
        warm_up(manager)
        manager.publish(OrderPaid(aggregate_id="order-1"))
        with pytest.raises(EventRejectedError):
            manager.publish(OrderPlaced(aggregate_id="order-1", note="x" * 5_000_000))

    assert metrics.count("published", path=PublishPath.DIRECT) == 1
    assert metrics.count("publish_failed", event_type="shop.order.placed") == 1


def test_an_event_that_rocketmq_can_never_take_is_rejected(
    events: RocketMqEventManager, topic: str
) -> None:
    with pytest.raises(EventRejectedError, match="at most") as caught:
        events.publish_stored(a_stored_event(payload=b"x" * (4 * 1024 * 1024)))
    assert caught.value.topic == topic
    with pytest.raises(EventRejectedError, match="control character"):
        events.publish_stored(a_stored_event(aggregate_id="a\x02b"))


@pytest.mark.parametrize("topic", ["shop.events", "x" * 128, "TBW102", "%DLQ%shop"])
def test_a_topic_that_rocketmq_does_not_allow_kills_no_event(topic: str) -> None:
    """A setting is wrong, not the event: it may be published once that is mended."""
    with (
        an_event_manager(topic) as manager,
        pytest.raises(EventPublishError, match=r"letters, digits|RocketMQ's own") as caught,
    ):
        manager.publish_stored(a_stored_event())
    assert caught.value.retryable


def test_a_topic_that_rocketmq_does_not_allow_is_refused_where_it_is_set() -> None:
    source = MappingConfigurationSource({"event.topic.default": "shop.events"})
    topics = ConfigurableTopicResolver(source, broker_rule=checked_topic)

    with pytest.raises(ConfigurationError, match=r"event\.topic\.default.*letters, digits"):
        topics.check([OrderPaid])


def test_an_event_without_a_topic_may_be_published_later() -> None:
    manager = an_event_manager("unused")
    manager.topics = _NoTopics()
    with manager, pytest.raises(EventPublishError, match="no topic") as caught:
        manager.publish_stored(a_stored_event())
    assert caught.value.retryable


class _NoTopics:
    def resolve(self, event_type: str, *, subscriber: str | None = None) -> str:
        raise ConfigurationError([f"no topic for {event_type}"])


def test_before_the_start_and_after_the_shutdown_nothing_is_sent(topic: str) -> None:
    manager = an_event_manager(topic)
    with pytest.raises(BrokerUnavailableError, match="not been started"):
        manager.publish_stored(a_stored_event())

    manager.start()
    manager.start()
    warm_up(manager)
    manager.publish_stored(a_stored_event())
    manager.shutdown()
    manager.shutdown()

    with pytest.raises(BrokerUnavailableError, match="shut down"):
        manager.publish_stored(a_stored_event())
    with pytest.raises(InfrastructureError, match="make a new one"):
        manager.start()


def test_a_manager_that_was_never_started_is_shut_down(topic: str) -> None:
    manager = an_event_manager(topic)

    manager.shutdown()

    with pytest.raises(BrokerUnavailableError, match="shut down"):
        manager.publish_stored(a_stored_event())
    with pytest.raises(InfrastructureError, match="make a new one"):
        manager.start()


def test_two_managers_live_in_one_process(events: RocketMqEventManager, topic: str) -> None:
    with an_event_manager(topic) as other:
        warm_up(other)
        assert other.publish_stored(a_stored_event()).text
        assert events.publish_stored(a_stored_event()).text
    assert events.publish_stored(a_stored_event()).text


def test_a_check_at_start_needs_a_broker(topic: str) -> None:
    manager = an_event_manager(topic, name_server="127.0.0.1:1", check_at_start=True)
    with pytest.raises(RocketMqStartError, match="no name server has a broker"):
        manager.start()

    manager.config = an_event_manager(topic, check_at_start=True).config
    with manager:
        warm_up(manager)
        assert manager.publish_stored(a_stored_event()).text


def test_without_a_check_the_broker_may_come_later(topic: str) -> None:
    with (
        an_event_manager(topic, name_server="127.0.0.1:1") as manager,
        pytest.raises(EventUnconfirmedError, match="no route"),
    ):
        manager.publish_stored(a_stored_event())


def test_subscribers_need_a_consumer_group(topic: str) -> None:
    manager = an_event_manager(topic)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=r"rocketmq\.consumer-group"):
        manager.start()


def test_subscribers_need_a_topic_that_is_allowed() -> None:
    manager = an_event_manager("shop.events", consumer_group="shop")
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match="letters, digits"):
        manager.start()


def test_subscribers_are_registered_before_the_start(topic: str) -> None:
    manager = an_event_manager(topic)
    manager.register_subscriber("first", OrderPaid, print)
    manager.register_subscriber("then", OrderPaid, print, depends_on=["first"])

    assert [each.code for each in manager.subscribers()["shop.order.paid"]] == ["first", "then"]
    assert manager.dependencies() == {"shop.order.paid": (("first", "then"),)}
    with pytest.raises(SubscriptionError, match="already"):
        manager.register_subscriber("first", OrderPaid, print)


def test_a_stored_event_of_another_kind_is_still_only_bytes(
    events: RocketMqEventManager, caplog: pytest.LogCaptureFixture
) -> None:
    """Publishing needs neither class nor decoding."""
    message: OutboxMessage = a_stored_event(event_type="another.service", payload=b"[1]")

    with caplog.at_level(logging.WARNING):
        assert events.publish_stored(message).text
    assert not caplog.records
