"""Names of streams, and which of them an aggregate's events are in."""

from collections import Counter

import pytest

from pragmatic_ddd_redis import checked_topic
from pragmatic_ddd_redis.streams import stream_of, streams_of


@pytest.mark.parametrize("topic", ["shop-events", "shop.order:paid", "x" * 249, "a:b2", "7"])
def test_a_topic_may_have_most_names(topic: str) -> None:
    assert checked_topic(topic) == topic


@pytest.mark.parametrize(
    ("topic", "rule"),
    [
        ("", "printable ASCII"),
        ("shop events", "without spaces"),
        ("größe", "ASCII"),
        ("x" * 250, "at most 249"),
        ("shop\n", "printable"),
        ("pragmatic-ddd:shop", "own"),
        ("shop:0", "partitions"),
        ("shop:12", "partitions"),
    ],
)
def test_other_topics_are_refused(topic: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        checked_topic(topic)


def test_one_partition_is_the_topic_itself() -> None:
    assert streams_of("shop", 1) == ["shop"]
    assert stream_of("shop", "order-1", 1) == "shop"


def test_an_aggregate_is_where_other_languages_find_it() -> None:
    """CRC-32, modulo the number: these numbers must never change."""
    found = [stream_of("shop", of, 4) for of in ("order-1", "order-2", "Größe", "")]

    assert found == ["shop:3", "shop:1", "shop:1", "shop:0"]
    assert streams_of("shop", 4) == ["shop:0", "shop:1", "shop:2", "shop:3"]


def test_aggregates_are_spread_evenly() -> None:
    counts = Counter(stream_of("shop", f"order-{number}", 8) for number in range(8000))

    assert len(counts) == 8
    assert min(counts.values()) > 900
