import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import ConfigurationError


class OrderPaid(DomainEvent, name="shop.order.paid"):
    pass


class OrderShipped(DomainEvent, name="shop.order.shipped"):
    pass


def a_resolver(**topics: str) -> ConfigurableTopicResolver:
    settings = {f"event.topic.{key.replace('__', '.')}": topic for key, topic in topics.items()}
    return ConfigurableTopicResolver(MappingConfigurationSource(settings))


def test_the_most_particular_topic_wins() -> None:
    resolver = a_resolver(
        default="everything", shop__order__paid="payments", subscriber__mail="mails"
    )

    assert resolver.resolve("shop.order.paid", subscriber="mail") == "mails"
    assert resolver.resolve("shop.order.paid", subscriber="stock") == "payments"
    assert resolver.resolve("shop.order.paid") == "payments"
    assert resolver.resolve("shop.order.shipped") == "everything"


def test_without_a_topic_and_a_default_there_is_an_error() -> None:
    resolver = a_resolver(shop__order__paid="payments")

    assert resolver.resolve("shop.order.paid") == "payments"
    with pytest.raises(ConfigurationError, match=r"shop\.order\.shipped.*event\.topic\.default"):
        resolver.resolve("shop.order.shipped")


@pytest.mark.parametrize("topic", ["", "two words", "umläut", "tab\t", "x" * 250])
def test_a_topic_that_no_broker_takes_is_refused(topic: str) -> None:
    with pytest.raises(ConfigurationError, match=r"event\.topic\.default"):
        a_resolver(default=topic).resolve("shop.order.paid")


def test_a_topic_that_this_broker_does_not_take_is_refused_with_its_reason() -> None:
    def without_dots(topic: str) -> None:
        if "." in topic:
            raise ValueError("no dots")

    settings = {"event.topic.default": "shop.events", "event.topic.shop.order.paid": "paid"}
    resolver = ConfigurableTopicResolver(
        MappingConfigurationSource(settings), broker_rule=without_dots
    )

    assert resolver.resolve("shop.order.paid") == "paid"
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"event\.topic\.default.*no dots"):
            resolver.check([OrderPaid, OrderShipped])


def test_all_wrong_topics_are_named_when_the_application_is_wired() -> None:
    resolver = a_resolver(shop__order__paid="two words")

    with pytest.raises(ConfigurationError) as refusal:
        resolver.check([OrderPaid, OrderShipped])

    assert len(refusal.value.problems) == 2
    a_resolver(default="all").check([OrderPaid, OrderShipped])


def test_the_answer_stays_the_same() -> None:
    settings = {"event.topic.default": "first"}
    resolver = ConfigurableTopicResolver(MappingConfigurationSource(settings))
    assert resolver.resolve("shop.order.paid") == "first"

    settings["event.topic.default"] = "second"

    assert resolver.resolve("shop.order.paid") == "first"


def test_what_is_no_text_is_no_topic() -> None:
    topics = ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": 5}))

    with pytest.raises(ConfigurationError, match=r"^event\.topic\.default = 5: a topic is"):
        topics.resolve("shop.order.paid")
