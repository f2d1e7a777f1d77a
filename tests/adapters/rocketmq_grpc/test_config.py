"""The keys ``rocketmq-grpc.*``."""

import datetime as dt
import re
from typing import Any

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcConfig


def bound(**settings: str) -> RocketMqGrpcConfig:
    keys = {f"rocketmq-grpc.{name.replace('_', '-')}": text for name, text in settings.items()}
    return RocketMqGrpcConfig.bind(MappingConfigurationSource(keys))


def test_every_key_is_read() -> None:
    config = bound(
        endpoints="10.0.0.1:8081;10.0.0.2:8081",
        namespace="shop",
        consumer_group="billing",
        send_timeout="5s",
        sends_side_by_side="16",
        invisible_time="1min",
        long_poll="2s",
        max_reconsume_times="3",
        reconsume_backoff_base="2s",
        reconsume_backoff_cap="1min",
        consumer_threads="4",
        delay="5min",
        delay_topic="later",
        shutdown_timeout="20s",
        check_at_start="true",
        tls="true",
        access_key="shop",
        secret_key="secret",
    )

    assert config.parsed_endpoints.addresses == (("10.0.0.1", 8081), ("10.0.0.2", 8081))
    assert config.invisible_time == dt.timedelta(minutes=1)
    assert config.max_reconsume_times == 3
    assert config.delay_topic_of("billing") == "later"
    assert config.check_at_start
    assert config.tls
    assert config.credentials is not None
    assert config.credentials.access_key == "shop"


def test_only_the_endpoints_are_needed() -> None:
    config = bound(endpoints="proxy:8081")

    assert config.send_timeout == dt.timedelta(seconds=3)
    assert config.invisible_time == dt.timedelta(seconds=30)
    assert config.consumer_group is None
    assert config.credentials is None
    assert config.delay_topic_of("billing") == "billing-delay"
    with pytest.raises(ConfigurationError, match=r"rocketmq-grpc\.endpoints must be set"):
        bound()


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"endpoints": "proxy"}, "host:port"),
        ({"endpoints": "a:1;b:1"}, "IPv4"),
        ({"namespace": "a b"}, "letters"),
        ({"consumer_group": "a b"}, "letters"),
        ({"consumer_group": "x" * 116}, "1 to 115"),
        ({"send_timeout": "0s"}, "send-timeout"),
        ({"sends_side_by_side": "0"}, "sends-side-by-side"),
        ({"invisible_time": "9s"}, "0:00:10"),
        ({"invisible_time": "13h"}, "12:00:00"),
        ({"max_reconsume_times": "-1"}, "max-reconsume-times"),
        ({"reconsume_backoff_base": "0s"}, "reconsume-backoff-base"),
        ({"consumer_threads": "0"}, "consumer-threads"),
        ({"delay": "25h"}, "1 day"),
        ({"delay_topic": "a.b"}, "letters, digits"),
        ({"access_key": "shop"}, "both, or neither"),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule(settings: dict[str, str], rule: str) -> None:
    with pytest.raises(ConfigurationError, match=rule):
        bound(**{"endpoints": "proxy:8081", **settings})


def test_a_secret_is_never_shown() -> None:
    config = RocketMqGrpcConfig(endpoints="p:1", access_key="shop", secret_key="tiger")

    assert "tiger" not in repr(config) + repr(config.credentials)
    with pytest.raises(ConfigurationError) as caught:
        bound(endpoints="p:1", secret_key="tiger")
    assert "tiger" not in str(caught.value)


def test_a_secret_of_another_type_is_not_shown_either() -> None:
    mistaken: Any = {"endpoints": "p:1", "access_key": "shop", "secret_key": b"tiger"}

    with pytest.raises(TypeError, match="secret_key: give a str") as caught:
        RocketMqGrpcConfig(**mistaken)
    assert "tiger" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("endpoints", "http://proxy:8081"),
        ("namespace", "a b"),
        ("consumer_group", "a b"),
        ("delay_topic", "a.b"),
    ],
)
def test_a_wrong_value_is_named_without_a_source_too(name: str, value: object) -> None:
    settings: dict[str, Any] = {"endpoints": "proxy:8081", name: value}

    with pytest.raises(ValueError, match=f"^{name} = {re.escape(repr(value))}"):
        RocketMqGrpcConfig(**settings)


def test_what_may_be_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ValueError, match=r"…@broker:1:2': .*host:port") as caught:
        RocketMqGrpcConfig(endpoints="shop:to,p;secret@broker:1:2")
    assert "secret" not in str(caught.value)
    assert "shop" not in str(caught.value)
