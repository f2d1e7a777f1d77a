"""Events and their subscribers: order, dispatch, topics; the wire format, and brokers' managers."""

from pragmatic_ddd.application.events.addressee import EVERYBODY, Addressee
from pragmatic_ddd.application.events.broker_event_manager import BrokerEventManager
from pragmatic_ddd.application.events.consumption_errors import SubscribersFailedError, is_final
from pragmatic_ddd.application.events.dispatch import (
    Course,
    Dispatcher,
    Outcome,
    SubscriberOutcome,
)
from pragmatic_ddd.application.events.event_consumption import EventConsumption
from pragmatic_ddd.application.events.failure_report import report_dead_letter, report_failed_try
from pragmatic_ddd.application.events.lifecycle import Lifecycle
from pragmatic_ddd.application.events.ordering import SubscriberOrderManager
from pragmatic_ddd.application.events.received_event import ReceivedEvent
from pragmatic_ddd.application.events.redelivery import Failure, Redeliveries
from pragmatic_ddd.application.events.subscribers import SubscriberRegistry
from pragmatic_ddd.application.events.topics import ConfigurableTopicResolver
from pragmatic_ddd.application.events.wire_format import attributes_of, received_event

__all__ = [
    "EVERYBODY",
    "Addressee",
    "BrokerEventManager",
    "ConfigurableTopicResolver",
    "Course",
    "Dispatcher",
    "EventConsumption",
    "Failure",
    "Lifecycle",
    "Outcome",
    "ReceivedEvent",
    "Redeliveries",
    "SubscriberOrderManager",
    "SubscriberOutcome",
    "SubscriberRegistry",
    "SubscribersFailedError",
    "attributes_of",
    "is_final",
    "received_event",
    "report_dead_letter",
    "report_failed_try",
]
