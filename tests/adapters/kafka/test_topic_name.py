"""Which names a topic of Kafka can have."""

import pytest

from pragmatic_ddd_kafka import checked_topic


@pytest.mark.parametrize("topic", ["a", "shop.order_events-1", "x" * 249, "__mine"])
def test_a_topic_that_kafka_allows(topic: str) -> None:
    assert checked_topic(topic) == topic


@pytest.mark.parametrize(
    "topic", ["", ".", "..", "x" * 250, "shop events", "shop/events", "Größe", "a\n"]
)
def test_a_topic_that_kafka_does_not_allow(topic: str) -> None:
    with pytest.raises(ValueError, match="1 to 249 letters"):
        checked_topic(topic)


def test_a_topic_of_kafka_s_own_is_refused() -> None:
    with pytest.raises(ValueError, match="one of Kafka's own"):
        checked_topic("__consumer_offsets")
