"""The keys ``redis.*``."""

import datetime as dt
import re
from typing import Any

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_redis import RedisConfig

_URL = "redis://localhost"


def bound(**settings: str) -> RedisConfig:
    keys = {f"redis.{name.replace('_', '-')}": value for name, value in settings.items()}
    return RedisConfig.bind(MappingConfigurationSource(keys))


def test_the_url_is_enough() -> None:
    config = bound(url=_URL)

    assert config.address == "localhost:6379"
    assert config.durability == "append-only"
    assert config.max_length is None
    assert config.partitions == 1
    assert config.longest_call == 3 * config.send_timeout


def test_every_setting_has_a_key() -> None:
    config = bound(
        url="rediss://redis.example:7000/2",
        username="shop",
        password="secret",
        tls_ca_file="ca.pem",
        tls_certificate_file="own.pem",
        tls_key_file="own.key",
        consumer_group="shop",
        new_group_starts_at="newest",
        partitions="8",
        send_timeout="2s",
        durability="synced",
        replicas="1",
        max_length="100000",
        largest_body_bytes="1000",
        max_attempts="5",
        retry_backoff_base="10ms",
        retry_backoff_cap="1min",
        delay="5s",
        lease="20s",
        read_count="10",
        sends_side_by_side="4",
        shutdown_timeout="3s",
        check_at_start="true",
    )

    assert config.address == "redis.example:7000/2"
    assert config.longest_call == dt.timedelta(seconds=10)
    assert config.connection_options() == {
        "username": "shop",
        "password": "secret",
        "host": "redis.example",
        "port": 7000,
        "db": 2,
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": "ca.pem",
        "ssl_certfile": "own.pem",
        "ssl_keyfile": "own.key",
    }
    assert config.max_length == 100_000
    assert config.delay == dt.timedelta(seconds=5)


def test_account_and_password_may_stand_in_the_url() -> None:
    config = RedisConfig(url="redis://shop:s%40cret@localhost:6380/1")

    options = config.connection_options()
    assert (options["username"], options["password"]) == ("shop", "s@cret")
    assert config.address == "localhost:6380/1"


def test_a_socket_of_this_machine_has_a_path() -> None:
    config = RedisConfig(url="unix:///run/redis%20one.sock")

    assert config.connection_options() == {
        "username": None,
        "password": None,
        "path": "/run/redis one.sock",
    }


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis://",
        "redis://localhost:99999",
        "redis://localhost/one",
        "redis://localhost?socket_timeout=1",
        "unix://",
        "redis://[::1",
    ],
)
def test_other_urls_are_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r"'url': redis://host:port/database") as caught:
        RedisConfig(url=url)
    assert "socket_timeout" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"consumer_group": "shop group"}, "letters, digits"),
        ({"consumer_group": ""}, "letters, digits"),
        ({"durability": "strong"}, "durability"),
        ({"new_group_starts_at": "0"}, "new_group_starts_at"),
        ({"partitions": 0}, "partitions"),
        ({"replicas": -1}, "replicas"),
        ({"max_length": 0}, "max_length"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"send_timeout": dt.timedelta()}, "send_timeout"),
        ({"lease": dt.timedelta(milliseconds=999)}, "lease"),
        ({"delay": dt.timedelta(seconds=-1)}, "delay"),
        ({"tls_ca_file": "ca.pem"}, "rediss"),
        ({"url": "redis://:one@localhost", "password": "two"}, "not both"),
        ({"url": "redis://shop@localhost", "username": "shop"}, "not both"),
        ({"url": "rediss://localhost", "tls_key_file": "own.key"}, "both, or neither"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        RedisConfig(**{"url": _URL, **changes})


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "redis://:hidden@localhost", "password": "hidden"},
        {"url": "http://:hidden@localhost"},
        {"url": "redis://shop:hidden@localhost", "username": "hidden"},
    ],
)
def test_an_error_shows_no_password(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        bound(**settings)

    assert "hidden" not in str(caught.value)


def test_no_text_of_a_config_shows_a_password() -> None:
    configs = [
        RedisConfig(url="redis://:hidden@localhost"),
        RedisConfig(url=_URL, password="hidden"),
    ]

    assert not any("hidden" in f"{config!r} {config.address}" for config in configs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consumer_group", "shop group"),
    ],
)
def test_a_wrong_value_is_named_without_a_source_too(name: str, value: object) -> None:
    settings: dict[str, Any] = {"url": _URL, name: value}

    with pytest.raises(ValueError, match=f"^{name} = {re.escape(repr(value))}"):
        RedisConfig(**settings)
