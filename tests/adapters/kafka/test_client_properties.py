"""What librdkafka is told."""

import datetime as dt

import pytest

from pragmatic_ddd_kafka.client_properties import (
    admin_properties,
    consumer_properties,
    one_by_one,
    producer_properties,
)
from pragmatic_ddd_kafka.extra_settings import extra_settings
from tests.adapters.kafka.shop import a_config


def test_a_producer_is_idempotent_and_asks_all_replicas() -> None:
    properties = producer_properties(a_config(send_timeout=dt.timedelta(seconds=5)))

    assert properties["acks"] == "all"
    assert properties["enable.idempotence"] is True
    assert properties["partitioner"] == "murmur2_random"
    assert properties["message.timeout.ms"] == 5000
    assert properties["topic.metadata.propagation.max.ms"] < 5000
    assert properties["linger.ms"] == 0


def test_a_weaker_durability_is_chosen_by_name() -> None:
    properties = producer_properties(a_config(durability="leader"))

    assert (properties["acks"], properties["enable.idempotence"]) == (1, False)


def test_one_by_one_means_batches_of_one() -> None:
    properties = producer_properties(a_config())

    assert one_by_one(properties) == properties | {"batch.num.messages": 1}


def test_a_consumer_commits_by_itself_nothing() -> None:
    config = a_config(max_poll_interval=dt.timedelta(minutes=7))

    properties = consumer_properties(config, "shop", member=1)

    assert properties["group.id"] == "shop"
    assert properties["enable.auto.commit"] is False
    assert properties["enable.auto.offset.store"] is False
    assert properties["auto.offset.reset"] == "earliest"
    assert properties["max.poll.interval.ms"] == 420_000
    assert properties["heartbeat.interval.ms"] * 3 <= properties["session.timeout.ms"]
    assert "group.instance.id" not in properties


def test_members_of_one_process_have_names_of_their_own() -> None:
    one = a_config(group_instance_id="shop-1")
    several = a_config(group_instance_id="shop-1", consumer_threads=2)

    assert consumer_properties(one, "shop", member=1)["group.instance.id"] == "shop-1"
    assert consumer_properties(several, "shop", member=2)["group.instance.id"] == "shop-1-2"


def test_every_client_knows_the_servers_and_says_who_it_is() -> None:
    config = a_config(
        bootstrap_servers="kafka-1:9092, kafka-2:9092",
        security_protocol="sasl_ssl",
        sasl_mechanism="PLAIN",
        sasl_username="shop",
        sasl_password="hush",
        ssl_ca_file="/etc/ca.pem",
        client_settings=("compression.type = zstd", "topic.metadata.refresh.interval.ms=5000"),
    )

    for properties in (
        producer_properties(config),
        consumer_properties(config, "shop", member=1),
        admin_properties(config),
    ):
        assert properties["bootstrap.servers"] == "kafka-1:9092,kafka-2:9092"
        assert properties["client.id"] == "pragmatic-ddd"
        assert properties["security.protocol"] == "sasl_ssl"
        assert properties["sasl.username"] == "shop"
        assert properties["sasl.password"] == "hush"
        assert properties["ssl.ca.location"] == "/etc/ca.pem"
        assert properties["compression.type"] == "zstd"
        assert properties["topic.metadata.refresh.interval.ms"] == "5000"
        assert properties["enable.metrics.push"] is False


@pytest.mark.parametrize(
    "line", ["acks=1", " enable.idempotence = false", "bootstrap.servers=x", "sasl.password=hush"]
)
def test_what_a_promise_rests_on_is_not_for_the_user(line: str) -> None:
    with pytest.raises(ValueError, match="belongs to this adapter") as caught:
        extra_settings([line])
    assert "hush" not in str(caught.value)


def test_a_setting_of_the_user_is_obeyed_or_refused() -> None:
    """Never taken and left unused."""
    one = a_config(group_instance_id="shop-1")
    names = {*producer_properties(one), *consumer_properties(one, "shop", member=1)}
    for name in sorted(names):
        try:
            config = a_config(client_settings=(f"{name}=the user's",), group_instance_id="shop-1")
        except ValueError:
            continue
        for properties in (
            producer_properties(config),
            consumer_properties(config, "shop", member=1),
        ):
            assert properties[name] == "the user's"


@pytest.mark.parametrize("line", ["compression.type", "=zstd", ""])
def test_a_line_that_is_no_setting_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"client_settings\[1\]: name=value"):
        extra_settings(["compression.type=zstd", line])


def test_a_value_may_hold_an_equals_sign() -> None:
    assert extra_settings(["sasl.oauthbearer.config=a=b"]) == {"sasl.oauthbearer.config": "a=b"}
