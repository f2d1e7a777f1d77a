"""The keys ``kafka.*``."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_kafka import KafkaConfig, KafkaEventManager
from tests.adapters.kafka.shop import ShopSerializer, topics_of


def bound(**settings: str) -> KafkaConfig:
    keys = {f"kafka.{name.replace('_', '-')}": text for name, text in settings.items()}
    return KafkaConfig.bind(MappingConfigurationSource(keys))


def test_every_key_is_read() -> None:
    settings = {
        "bootstrap_servers": "kafka-1:9092, kafka-2:9092",
        "client_id": "shop",
        "durability": "leader",
        "send_timeout": "5s",
        "largest_body_bytes": "5000",
        "sends_side_by_side": "16",
        "consumer_group": "shop",
        "group_instance_id": "shop-1",
        "auto_offset_reset": "latest",
        "consumer_threads": "4",
        "max_attempts": "3",
        "retry_backoff_base": "2s",
        "retry_backoff_cap": "1min",
        "delay": "30s",
        "session_timeout": "10s",
        "max_poll_interval": "10min",
        "shutdown_timeout": "20s",
        "check_at_start": "true",
        "client_settings": "compression.type=zstd, ssl.cipher.suites=A",
        "security_protocol": "sasl_ssl",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "shop",
        "sasl_password": "hush",
        "ssl_ca_file": "/etc/ca.pem",
        "ssl_certificate_file": "/etc/shop.pem",
        "ssl_key_file": "/etc/shop.key",
        "ssl_key_password": "hush",
    }
    assert set(settings) == {field.name for field in attrs.fields(KafkaConfig)}

    config = bound(**settings)

    assert config.bootstrap_servers == "kafka-1:9092, kafka-2:9092"
    assert config.send_timeout == dt.timedelta(seconds=5)
    assert config.durability_profile.name == "leader"
    assert config.client_settings == ("compression.type=zstd", "ssl.cipher.suites=A")
    assert config.topics_of_the_group == ["shop-dead-letter", "shop-delay"]
    assert config.check_at_start


def test_only_the_servers_are_needed() -> None:
    config = bound(bootstrap_servers="kafka")

    assert config.send_timeout == dt.timedelta(seconds=3)
    assert config.durability_profile.name == "all"
    assert config.consumer_group is None
    assert config.auto_offset_reset == "earliest"
    assert config.topics_of_the_group == []


def test_secrets_are_not_shown() -> None:
    config = KafkaConfig(
        bootstrap_servers="kafka:9092",
        security_protocol="sasl_plaintext",
        sasl_mechanism="PLAIN",
        sasl_username="shop",
        sasl_password="hush",
        client_settings=("ssl.keystore.password=hush",),
    )

    assert "hush" not in repr(config)


@pytest.mark.parametrize("name", ["sasl_password", "ssl_key_password"])
def test_a_secret_of_another_type_is_not_shown(name: str) -> None:
    make: Callable[..., object] = KafkaConfig

    with pytest.raises(TypeError, match=f"^{name}: give a str$"):
        make(**{"bootstrap_servers": "kafka:9092", name: b"hush"})


@pytest.mark.parametrize(
    "name",
    [field.name for field in attrs.fields(KafkaConfig) if not field.name.startswith("s")],
)
def test_a_setting_of_another_type_is_named(name: str) -> None:
    make: Callable[..., object] = KafkaConfig

    with pytest.raises((TypeError, ValueError), match=name):
        make(**{"bootstrap_servers": "kafka:9092", name: 1.5})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "bootstrap-servers must be set"),
        ({"bootstrap_servers": ""}, "host:port"),
        ({"bootstrap_servers": "kafka:port"}, "host:port"),
        ({"bootstrap_servers": "kafka:9092,"}, "host:port"),
        ({"bootstrap_servers": "PLAINTEXT://kafka:9092"}, "host:port"),
        ({"client_id": ""}, "1 to 249 printable"),
        ({"durability": "none"}, "one of all, leader"),
        ({"send_timeout": "99ms"}, "send_timeout"),
        ({"send_timeout": "11min"}, "send_timeout"),
        ({"largest_body_bytes": "0"}, "largest_body_bytes"),
        ({"sends_side_by_side": "0"}, "sends_side_by_side"),
        ({"consumer_group": "shop events"}, "part of a topic's name"),
        ({"consumer_group": "x" * 238}, "part of a topic's name"),
        ({"consumer_group": ""}, "consumer_group"),
        ({"group_instance_id": "a\nb"}, "1 to 249 printable"),
        ({"auto_offset_reset": "none"}, "auto_offset_reset"),
        ({"consumer_threads": "0"}, "consumer_threads"),
        ({"max_attempts": "0"}, "max_attempts"),
        ({"retry_backoff_base": "0s"}, "retry_backoff_base"),
        ({"delay": "8d"}, "delay"),
        ({"session_timeout": "999ms"}, "session_timeout"),
        ({"session_timeout": "5min", "max_poll_interval": "4min"}, "not below session_timeout"),
        ({"client_settings": "compression.type"}, "client-settings"),
        ({"client_settings": "acks=1"}, "client-settings"),
        ({"security_protocol": "SASL_SSL"}, "security_protocol"),
        ({"security_protocol": "sasl_ssl"}, "sasl_mechanism"),
        ({"sasl_mechanism": "PLAIN"}, "sasl_mechanism"),
        ({"security_protocol": "sasl_ssl", "sasl_mechanism": "PLAIN"}, "sasl_username"),
        ({"security_protocol": "ssl", "sasl_username": "shop"}, "both, or neither"),
        (
            {"security_protocol": "ssl", "sasl_username": "shop", "sasl_password": "hush"},
            "and only there",
        ),
        ({"ssl_ca_file": "/etc/ca.pem"}, "and only there"),
        ({"security_protocol": "ssl", "ssl_key_file": "/etc/key"}, "both, or neither"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, str], reason: str) -> None:
    servers = {"bootstrap_servers": "kafka:9092"} if settings else {}

    with pytest.raises(ConfigurationError, match=reason) as caught:
        bound(**(servers | settings))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("config", {"bootstrap_servers": "kafka"}, "<dict object>: give a KafkaConfig$"),
        ("topics", "shop-events", "'shop-events': give an ITopicResolver; this has no resolve$"),
        ("metrics", None, "None: give an IEventMetrics; this has no backlog, "),
    ],
)
def test_a_wrong_part_is_named_when_the_event_manager_is_made(
    name: str, wrong: object, problem: str
) -> None:
    make: Callable[..., object] = KafkaEventManager
    parts: dict[str, Any] = {
        "config": KafkaConfig(bootstrap_servers="kafka"),
        "serializer": ShopSerializer(),
        "topics": topics_of("shop-events"),
    }

    with pytest.raises(TypeError, match=f"^{name} = {problem}"):
        make(**parts | {name: wrong})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bootstrap_servers", "kafka://127.0.0.1:29092"),
        ("client_id", ""),
        ("durability", "none"),
        ("consumer_group", "shop events"),
        ("group_instance_id", "a\tb"),
    ],
)
def test_a_wrong_value_is_named_without_a_source_too(name: str, value: object) -> None:
    settings: dict[str, Any] = {"bootstrap_servers": "kafka:9092", name: value}

    with pytest.raises(ValueError, match=f"^{name} = {re.escape(repr(value))}"):
        KafkaConfig(**settings)


def test_what_may_be_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ValueError, match=r"…@broker:1:2': .*host:port") as caught:
        KafkaConfig(bootstrap_servers="shop:to,p;secret@broker:1:2")
    assert "secret" not in str(caught.value)
    assert "shop" not in str(caught.value)
