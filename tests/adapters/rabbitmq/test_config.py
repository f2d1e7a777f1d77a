"""The keys ``rabbitmq.*``."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_rabbitmq import RabbitMqConfig, TopologyMode
from pragmatic_ddd_rabbitmq.connector import Connector

_URL = "amqp://shop:topsecret@rabbit:5672/shop"


def bound(**settings: str) -> RabbitMqConfig:
    keys = {f"rabbitmq.{name.replace('_', '-')}": text for name, text in settings.items()}
    return RabbitMqConfig.bind(MappingConfigurationSource(keys))


def test_every_key_is_read() -> None:
    config = bound(
        url=_URL,
        tls_ca_file="/etc/ssl/ca.pem",
        tls_certificate_file="/etc/ssl/shop.pem",
        tls_key_file="/etc/ssl/shop.key",
        connection_name="shop",
        consumer_group="warehouse",
        durability="classic",
        topology="check",
        queues="4",
        prefetch="10",
        consumer_threads="2",
        max_attempts="5",
        retry_backoff_base="2s",
        retry_backoff_cap="1min",
        delay="1h",
        connect_timeout="1s",
        confirm_timeout="2s",
        heartbeat="20s",
        sends_side_by_side="16",
        largest_body_bytes="1000",
        shutdown_timeout="20s",
    )

    assert config == RabbitMqConfig(
        url=_URL,
        tls_ca_file=Path("/etc/ssl/ca.pem"),
        tls_certificate_file=Path("/etc/ssl/shop.pem"),
        tls_key_file=Path("/etc/ssl/shop.key"),
        connection_name="shop",
        consumer_group="warehouse",
        durability="classic",
        topology=TopologyMode.CHECK,
        queues=4,
        prefetch=10,
        consumer_threads=2,
        max_attempts=5,
        retry_backoff_base=dt.timedelta(seconds=2),
        retry_backoff_cap=dt.timedelta(minutes=1),
        delay=dt.timedelta(hours=1),
        connect_timeout=dt.timedelta(seconds=1),
        confirm_timeout=dt.timedelta(seconds=2),
        heartbeat=dt.timedelta(seconds=20),
        sends_side_by_side=16,
        largest_body_bytes=1000,
        shutdown_timeout=dt.timedelta(seconds=20),
    )
    assert [str(address) for address in config.addresses] == ["amqp://rabbit:5672/shop"]
    assert config.heartbeat_seconds == 20


def test_only_the_url_is_needed() -> None:
    config = bound(url="amqp://rabbit")

    assert config.durability == "quorum"
    assert config.topology is TopologyMode.DECLARE
    assert config.longest_hold == dt.timedelta(seconds=1 + 2 + 4 + 8 + 16 + 10 * 30)


def test_the_url_is_never_shown() -> None:
    assert "topsecret" not in repr(bound(url=_URL))
    for wrong in (f"{_URL}?heartbeat=1", "http://shop:topsecret@rabbit"):
        with pytest.raises(ConfigurationError) as caught:
            bound(url=wrong)
        assert "rabbitmq.url" in str(caught.value)
        assert "topsecret" not in str(caught.value)
        with pytest.raises(ValueError, match="amqp://user:password@host") as refused:
            RabbitMqConfig(url=wrong)
        assert "topsecret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("consumer_group", "ware house", "letters, digits"),
        ("consumer_group", "amq.warehouse", "not 'amq.'"),
        ("consumer_group", "w" * 201, "1 to 200"),
        ("durability", "mirrored", "one of quorum, classic"),
        ("topology", "maybe", "declare"),
        ("queues", "0", ">= 1"),
        ("prefetch", "0", ">= 1"),
        ("consumer_threads", "0", ">= 1"),
        ("max_attempts", "0", ">= 1"),
        ("delay", "25d", "<="),
        ("connect_timeout", "0s", ">="),
        ("confirm_timeout", "0s", ">="),
        ("heartbeat", "500ms", ">="),
        ("largest_body_bytes", "0", ">= 1"),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule(name: str, text: str, rule: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        bound(url="amqp://rabbit", **{name: text})

    (problem,) = caught.value.problems
    assert f"rabbitmq.{name.replace('_', '-')} = " in problem
    assert rule in problem


def test_an_event_is_not_held_for_longer_than_the_broker_bears() -> None:
    with pytest.raises(ConfigurationError, match="RabbitMQ closes the channel"):
        bound(url="amqp://rabbit", max_attempts="50", retry_backoff_cap="1min")

    config = bound(url="amqp://rabbit", max_attempts="50", retry_backoff_cap="10s")
    assert config.longest_hold < dt.timedelta(minutes=10)


def test_a_key_needs_its_certificate() -> None:
    with pytest.raises(ValueError, match="tls_certificate_file"):
        RabbitMqConfig(url="amqps://rabbit", tls_key_file=Path("shop.key"))


@pytest.mark.parametrize("field", ["tls_ca_file", "tls_certificate_file"])
def test_a_file_that_cannot_be_used_is_named(field: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {field: tmp_path / "none.pem"}
    with pytest.raises(ConfigurationError, match=r"none\.pem"):
        Connector.of(RabbitMqConfig(url="amqps://rabbit", **settings))

    (tmp_path / "none.pem").write_text("no certificate")
    with pytest.raises(ConfigurationError, match=r"none\.pem"):
        Connector.of(RabbitMqConfig(url="amqps://rabbit", **settings))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consumer_group", "ware house"),
        ("durability", "mirrored"),
    ],
)
def test_a_wrong_value_is_named_without_a_source_too(name: str, value: object) -> None:
    settings: dict[str, Any] = {"url": _URL, name: value}

    with pytest.raises(ValueError, match=f"^{name} = {re.escape(repr(value))}"):
        RabbitMqConfig(**settings)
