"""Events inside one process: subscribers, their order, dispatch, topics."""

from pragmatic_ddd.application.events.dispatch import (
    Course,
    Dispatcher,
    Outcome,
    SubscriberOutcome,
)
from pragmatic_ddd.application.events.lifecycle import Lifecycle
from pragmatic_ddd.application.events.ordering import SubscriberOrderManager
from pragmatic_ddd.application.events.subscribers import SubscriberRegistry
from pragmatic_ddd.application.events.topics import ConfigurableTopicResolver

__all__ = [
    "ConfigurableTopicResolver",
    "Course",
    "Dispatcher",
    "Lifecycle",
    "Outcome",
    "SubscriberOrderManager",
    "SubscriberOutcome",
    "SubscriberRegistry",
]
