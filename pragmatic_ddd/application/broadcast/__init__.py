"""Integration events: messages for other systems, sent over any broker, and theirs received."""

from pragmatic_ddd.application.broadcast.broker_messenger import BrokerBroadcastMessenger
from pragmatic_ddd.application.broadcast.envelopes import envelope_of, message_of
from pragmatic_ddd.application.broadcast.subscriber import BroadcastSubscriber
from pragmatic_ddd.application.integration_event import IntegrationEvent

__all__ = [
    "BroadcastSubscriber",
    "BrokerBroadcastMessenger",
    "IntegrationEvent",
    "envelope_of",
    "message_of",
]
