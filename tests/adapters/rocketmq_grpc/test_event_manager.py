"""The event manager against a real proxy, where the contracts say nothing."""

import datetime as dt
from typing import Any

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    EventPublishError,
    EventRejectedError,
    InfrastructureError,
)
from pragmatic_ddd.ports import Delivery
from pragmatic_ddd.ports.events import IEventManager, IPipelinedEventPublisher, Receipt
from pragmatic_ddd_rocketmq_grpc import (
    RocketMqGrpcEventManager,
    RocketMqGrpcStartError,
    checked_topic,
)
from pragmatic_ddd_rocketmq_grpc.client_library import load_client_library
from pragmatic_ddd_rocketmq_grpc.send_request import send_request
from tests.adapters.rocketmq_grpc.shop import (
    OrderPaid,
    a_config,
    a_group,
    a_message,
    a_stored_event,
    an_event_manager,
    unique,
)
from tests.services.admin import create_consumer_group
from tests.services.rocketmq_messages import stored_messages

pytestmark = pytest.mark.service("rocketmq-grpc")


def test_it_is_an_event_manager_that_publishes_many(events: RocketMqGrpcEventManager) -> None:
    manager: IEventManager = events
    publisher: IPipelinedEventPublisher = events

    assert manager.side_by_side == 64
    assert publisher.longest_call == dt.timedelta(seconds=10)


def test_what_sent_means_is_said(events: RocketMqGrpcEventManager) -> None:
    assert "SEND_OK" in events.durability.sent_means
    assert events.durability.survives_process_crash
    assert not events.durability.survives_power_loss


def test_a_receipt_says_where_the_message_lies(
    events: RocketMqGrpcEventManager, topic: str
) -> None:
    receipt = events.publish_stored(a_stored_event())

    (stored,) = stored_messages(topic)
    assert receipt.text == f"{stored.properties['UNIQ_KEY']} at offset 0 on {topic}"


def test_a_message_is_found_by_event_type_and_id(
    events: RocketMqGrpcEventManager, topic: str
) -> None:
    events.publish_stored(a_stored_event(message_id="two words", aggregate_id="order-7"))

    (stored,) = stored_messages(topic)
    assert stored.properties["TAGS"] == OrderPaid.event_type
    assert stored.properties["KEYS"] == "two%20words"
    assert stored.properties["ce_id"] == "two words"
    assert stored.properties["__SHARDINGKEY"] == "order-7"
    assert stored.body == b'{"aggregate_id":"order-1","total":5}'


def test_many_messages_have_each_its_own_answer(
    events: RocketMqGrpcEventManager, topic: str
) -> None:
    events.topics = ConfigurableTopicResolver(
        MappingConfigurationSource({f"event.topic.{OrderPaid.event_type}": topic})
    )
    messages = [a_stored_event(aggregate_id=f"order-{number}") for number in range(5)]
    messages[1] = a_stored_event(aggregate_id="a\x02b")
    messages[3] = a_stored_event(event_type="no.topic", aggregate_id="order-3")

    answers = events.publish_many(messages)

    assert [type(answer) for answer in answers] == [
        Receipt,
        EventRejectedError,
        Receipt,
        EventPublishError,
        Receipt,
    ]
    assert len(stored_messages(topic)) == 3


def test_before_the_start_and_after_the_shutdown_many_are_refused(topic: str) -> None:
    manager = an_event_manager(topic)
    (before,) = manager.publish_many([a_stored_event()])
    manager.start()
    manager.shutdown()
    (after,) = manager.publish_many([a_stored_event()])

    assert isinstance(before, BrokerUnavailableError)
    assert "not been started" in str(before)
    assert isinstance(after, BrokerUnavailableError)
    assert "shut down" in str(after)


@pytest.mark.parametrize("topic", ["shop.events", "x" * 128, "TBW102", "%DLQ%shop"])
def test_a_topic_that_rocketmq_does_not_allow_kills_no_event(topic: str) -> None:
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


def test_subscribers_need_a_consumer_group(topic: str) -> None:
    manager = an_event_manager(topic)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=r"rocketmq-grpc\.consumer-group"):
        manager.start()


def test_a_group_that_is_not_orderly_is_refused_with_what_to_do(topic: str) -> None:
    group = unique("unordered")
    create_consumer_group(group, orderly=False)
    manager = an_event_manager(topic, consumer_group=group)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match=f"updateSubGroup .* -g {group} -o true"):
        manager.start()

    create_consumer_group(group, orderly=True)
    manager.start()
    manager.shutdown()


def test_a_group_that_nobody_has_made_is_refused(topic: str) -> None:
    """Brokers make groups by themselves, but no orderly ones."""
    manager = an_event_manager(topic, consumer_group=unique("unmade"))
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(ConfigurationError, match="not there, or not orderly"):
        manager.start()


def test_a_check_at_start_needs_a_proxy(topic: str) -> None:
    manager = an_event_manager(topic, endpoints="127.0.0.1:1", check_at_start=True)
    with pytest.raises(RocketMqGrpcStartError, match="UNAVAILABLE") as caught:
        manager.start()
    assert caught.value.retryable

    manager.config = a_config(check_at_start=True)
    with manager:
        assert manager.publish_stored(a_stored_event()).text


def test_a_check_at_start_needs_the_topics_that_are_consumed() -> None:
    manager = an_event_manager(unique("nowhere"), consumer_group=a_group(), check_at_start=True)
    manager.register_subscriber("mail", OrderPaid, print)

    with pytest.raises(RocketMqGrpcStartError, match="TOPIC_NOT_FOUND"):
        manager.start()


def test_without_a_check_the_proxy_may_come_later(topic: str) -> None:
    with (
        an_event_manager(topic, endpoints="127.0.0.1:1") as manager,
        pytest.raises(BrokerUnavailableError, match="UNAVAILABLE"),
    ):
        manager.publish_stored(a_stored_event())


def test_a_topic_for_delayed_events_is_needed_only_where_there_are_any(topic: str) -> None:
    group = a_group(with_topics=False)
    settings: dict[str, Any] = {
        "consumer_group": group,
        "delay": dt.timedelta(seconds=1),
        "check_at_start": True,
    }
    at_once = an_event_manager(topic, **settings)
    at_once.register_subscriber("mail", OrderPaid, print)
    with at_once:
        pass
    delayed = an_event_manager(topic, **settings)
    delayed.register_subscriber("mail", OrderPaid, print, delivery=Delivery.DELAYED)

    with pytest.raises(RocketMqGrpcStartError, match=f"{group}-delay"):
        delayed.start()


def test_two_managers_live_in_one_process(events: RocketMqGrpcEventManager, topic: str) -> None:
    with an_event_manager(topic) as other:
        assert other.publish_stored(a_stored_event()).text
        assert events.publish_stored(a_stored_event()).text
    assert events.publish_stored(a_stored_event()).text
    with pytest.raises(InfrastructureError, match="make a new one"):
        other.start()


def test_a_namespace_is_passed_on(topic: str) -> None:
    """Apache's proxy takes no notice of it; those of some vendors do."""
    with an_event_manager(topic, namespace="shop") as manager:
        request = send_request(load_client_library(), a_message(), "shop")
        assert manager.publish_stored(a_stored_event()).text

    assert request.messages[0].topic.resource_namespace == "shop"
