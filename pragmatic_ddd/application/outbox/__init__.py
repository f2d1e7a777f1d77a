"""The outbox path: encoding, unit of work, eager publisher, relay."""

from pragmatic_ddd.application.outbox.config import EagerPoolConfig, OutboxRelayConfig
from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.recorder import OutboxRecorder
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.application.outbox.relay_round import RelayRound
from pragmatic_ddd.application.outbox.unit_of_work import OutboxUnitOfWork

__all__ = [
    "BrokerHealth",
    "EagerOutboxPublisher",
    "EagerPoolConfig",
    "EventEncoding",
    "OutboxRecorder",
    "OutboxRelay",
    "OutboxRelayConfig",
    "OutboxUnitOfWork",
    "RelayRound",
]
