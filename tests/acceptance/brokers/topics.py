"""One topic for every event of a run."""

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver


def group_of(topic: str) -> str:
    """Return the group of a run's consumers."""
    return f"{topic}-consumers"


def only(topic: str) -> ConfigurableTopicResolver:
    """Return what sends every event to that topic."""
    return ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))
