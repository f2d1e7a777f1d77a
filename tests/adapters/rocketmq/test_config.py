"""The keys ``rocketmq.*``."""

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_rocketmq import RocketMqConfig, RocketMqEventManager


def bound(**settings: str) -> RocketMqConfig:
    keys = {f"rocketmq.{name.replace('_', '-')}": text for name, text in settings.items()}
    return RocketMqConfig.bind(MappingConfigurationSource(keys))


def test_every_key_is_read() -> None:
    config = bound(
        name_server="ns-1:9876;ns-2:9876",
        producer_group="shop-producer",
        consumer_group="shop",
        send_msg_timeout="5s",
        retry_times_when_send_failed="0",
        max_reconsume_times="3",
        reconsume_backoff_base="2s",
        reconsume_backoff_cap="1min",
        consumer_threads="4",
        sends_side_by_side="12",
        default_delay_level="3",
        shutdown_timeout="20s",
        check_at_start="true",
        library="/opt/librocketmq.so",
        log_folder="/var/log/shop",
        access_key="shop",
        secret_key="secret",
    )

    assert config.name_servers.addresses == (("ns-1", 9876), ("ns-2", 9876))
    assert config.send_msg_timeout == dt.timedelta(seconds=5)
    assert config.max_reconsume_times == 3
    assert config.check_at_start
    assert config.library_path == Path("/opt/librocketmq.so")
    assert config.log_folder_path == Path("/var/log/shop")
    assert config.credentials is not None
    assert "secret'" not in repr(config) + repr(config.credentials)


def test_only_the_name_server_is_needed() -> None:
    config = bound(name_server="ns:9876")

    assert config.send_msg_timeout == dt.timedelta(seconds=3)
    assert config.retry_times_when_send_failed == 0
    assert config.consumer_group is None
    assert config.library_path is None
    assert config.log_folder_path is None
    assert config.credentials is None


@pytest.mark.parametrize(
    "name",
    [
        "name_server",
        "producer_group",
        "consumer_group",
        "send_msg_timeout",
        "retry_times_when_send_failed",
        "max_reconsume_times",
        "reconsume_backoff_base",
        "reconsume_backoff_cap",
        "consumer_threads",
        "sends_side_by_side",
        "default_delay_level",
        "shutdown_timeout",
    ],
)
def test_a_setting_of_another_type_is_named(name: str) -> None:
    make: Callable[..., object] = RocketMqConfig

    with pytest.raises(TypeError, match=rf"^{name} = 1\.5: give an? "):
        make(**{"name_server": "ns:9876", name: 1.5})


@pytest.mark.parametrize("name", ["access_key", "secret_key"])
def test_a_secret_of_another_type_is_not_shown(name: str) -> None:
    make: Callable[..., object] = RocketMqConfig

    with pytest.raises(TypeError, match=f"^{name}: give a str$"):
        make(**{"name_server": "ns:9876", "access_key": "shop", "secret_key": "s", name: b"secret"})


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("config", {"name_server": "ns:9876"}, "<dict object>: give a RocketMqConfig$"),
        ("serializer", EventTypeRegistry(), "<EventTypeRegistry object>: give an IEventSerializer"),
        ("topics", "shop-events", "'shop-events': give an ITopicResolver; this has no resolve$"),
        ("metrics", None, "None: give an IEventMetrics; this has no backlog, "),
    ],
)
def test_a_wrong_part_is_named_when_the_event_manager_is_made(
    name: str, wrong: object, problem: str
) -> None:
    make: Callable[..., object] = RocketMqEventManager
    parts = {
        "config": RocketMqConfig(name_server="ns:9876"),
        "serializer": OrjsonEventSerializer(EventTypeRegistry()),
        "topics": ConfigurableTopicResolver(MappingConfigurationSource({})),
    }

    with pytest.raises(TypeError, match=f"^{name} = {problem}"):
        make(**parts | {name: wrong})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "name-server must be set"),
        ({"name_server": "ns"}, "host:port"),
        ({"name_server": "ns:9876", "retry_times_when_send_failed": "2"}, "must be 0"),
        ({"name_server": "ns:9876", "producer_group": ""}, "producer_group"),
        ({"name_server": "ns:9876", "producer_group": "DEFAULT_PRODUCER"}, "not one of"),
        ({"name_server": "ns:9876", "consumer_group": "shop events"}, "consumer_group"),
        ({"name_server": "ns:9876", "consumer_group": "x" * 116}, "1 to 115"),
        ({"name_server": "ns:9876", "send_msg_timeout": "0s"}, "send_msg_timeout"),
        ({"name_server": "ns:9876", "send_msg_timeout": "11min"}, "send_msg_timeout"),
        ({"name_server": "ns:9876", "max_reconsume_times": "-1"}, "max_reconsume_times"),
        ({"name_server": "ns:9876", "consumer_threads": "0"}, "consumer_threads"),
        ({"name_server": "ns:9876", "default_delay_level": "19"}, "default_delay_level"),
        ({"name_server": "ns:9876", "access_key": "shop"}, "both, or neither"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        bound(**settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name_server", "http://ns:9876"),
        ("consumer_group", "shop events"),
        ("retry_times_when_send_failed", 2),
    ],
)
def test_a_wrong_value_is_named_without_a_source_too(name: str, value: object) -> None:
    settings: dict[str, Any] = {"name_server": "ns:9876", name: value}

    with pytest.raises(ValueError, match=f"^{name} = {re.escape(repr(value))}"):
        RocketMqConfig(**settings)


def test_what_may_be_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ValueError, match=r"…@broker:1:2': .*host:port") as caught:
        RocketMqConfig(name_server="shop:to,p;secret@broker:1:2")
    assert "secret" not in str(caught.value)
    assert "shop" not in str(caught.value)
