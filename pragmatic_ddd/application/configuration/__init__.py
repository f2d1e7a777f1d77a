"""Settings: from dotted keys, wherever they stand, to frozen, validated config classes.

outbox.poll-interval = 5min   ->   OutboxRelayConfig.poll_interval = timedelta(minutes=5)
"""

from pragmatic_ddd.application.configuration.binding import bind
from pragmatic_ddd.application.configuration.durations import duration
from pragmatic_ddd.application.configuration.environment import EnvironmentConfigurationSource
from pragmatic_ddd.application.configuration.layers import LayeredConfigurationSource
from pragmatic_ddd.application.configuration.mapping import MappingConfigurationSource
from pragmatic_ddd.application.configuration.toml import TomlConfigurationSource

__all__ = [
    "EnvironmentConfigurationSource",
    "LayeredConfigurationSource",
    "MappingConfigurationSource",
    "TomlConfigurationSource",
    "bind",
    "duration",
]
