"""The outbox path: encoding, unit of work, eager publisher, relay.

    OutboxUnitOfWork, OutboxRecorder   store what EventEncoding makes of events
    EagerOutboxPublisher       sends it after the commit; its threads share a LaneBoard
    ├── LaneBoard              hands over between threads, under a lock: Lanes knows where the Lane
    │                          of each aggregate stands, Room how much is left; LaneClaims are the
    │                          lanes whose next message has no owner
    ├── EagerWorker            sends a lane by LaneDelivery, hands over a FinishedLane
    └── Coordinator            writes the Settlement of finished lanes, claims for LaneClaims
    OutboxRelay                brings the rest; sleeps as RelayPace says
    ├── RelayRounds            ClaimsAhead claims, LaneDelivery or WaveDelivery sends, Settling
    │                          writes; a RelayRound says what one of them did
    ├── OutboxMaintenance      tidies, purges, and measures the backlog
    └── RelayErrors            tells of rounds that failed

Either delivery asks Answers, which knows BrokerHealth and Backoff, what becomes of a message, and
gathers that in a Settlement: results for rows of the outbox. Settling a *received* message is
another thing, and each broker's adapter has a class of its own for it.
"""

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
