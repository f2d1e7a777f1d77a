import datetime as dt

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.outbox import EagerPoolConfig, OutboxRelayConfig
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.errors import ConfigurationError
from tests.unit.application.outbox.builders import seconds


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = OutboxRelayConfig.default_config()

    assert config.poll_interval == dt.timedelta(minutes=5)
    assert config.grace == seconds(30)
    assert config.batch_size == 200
    assert config.max_attempts == 10
    assert config.lease == seconds(60)
    assert config.send_timeout == seconds(3)
    assert config.backoff == Backoff(base=seconds(1), cap=dt.timedelta(minutes=5))
    assert config.retention == dt.timedelta(days=7)


def test_every_key_can_be_set() -> None:
    settings = {
        "outbox.poll-interval": "1s",
        "outbox.grace": "PT20S",
        "outbox.batch-size": "50",
        "outbox.max-attempts": "3",
        "outbox.lease": "40s",
        "outbox.send-timeout": "500ms",
        "outbox.backoff-base": "2s",
        "outbox.backoff-cap": "1min",
        "outbox.retention": "30d",
    }

    config = OutboxRelayConfig.bind(MappingConfigurationSource(settings))

    assert config == OutboxRelayConfig(
        poll_interval=seconds(1),
        grace=seconds(20),
        batch_size=50,
        max_attempts=3,
        lease=seconds(40),
        send_timeout=seconds(0.5),
        backoff_base=seconds(2),
        backoff_cap=seconds(60),
        retention=dt.timedelta(days=30),
    )


def test_the_eager_pool_has_its_own_prefix() -> None:
    settings = {
        "outbox.eager.workers": "8",
        "outbox.eager.queue-size": "100",
        "outbox.eager.shutdown-timeout": "3s",
    }

    config = EagerPoolConfig.bind(MappingConfigurationSource(settings))

    assert config == EagerPoolConfig(workers=8, queue_size=100, shutdown_timeout=seconds(3))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("outbox.poll-interval", "0s"),
        ("outbox.poll-interval", "2h"),
        ("outbox.batch-size", "0"),
        ("outbox.batch-size", "10001"),
        ("outbox.max-attempts", "0"),
        ("outbox.retention", "40000d"),
    ],
)
def test_a_value_out_of_its_range_is_refused(key: str, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OutboxRelayConfig.bind(MappingConfigurationSource({key: text}))

    assert key in str(caught.value)
    assert repr(text) in str(caught.value)


def test_lease_and_grace_must_leave_room_for_one_call() -> None:
    config = OutboxRelayConfig(lease=seconds(12), grace=seconds(12))

    with pytest.raises(ConfigurationError) as caught:
        config.check_against(seconds(10))

    assert len(caught.value.problems) == 2
    for name, problem in zip(("lease", "grace"), caught.value.problems, strict=True):
        assert f"outbox.{name} = 0:00:12" in problem
        assert "above 0:00:12" in problem
        assert "0:00:10 plus 0:00:02" in problem


def test_just_enough_room_for_one_call_is_enough() -> None:
    config = OutboxRelayConfig(lease=seconds(12.001), grace=seconds(12.001))

    config.check_against(seconds(10))

    with pytest.raises(ConfigurationError):
        config.check_against(seconds(10.001))
