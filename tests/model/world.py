"""What the processes of the model share: the outbox, the broker, the time, and their settings."""

import datetime as dt

import attrs

from pragmatic_ddd.application.outbox import EagerPoolConfig, OutboxRelayConfig
from tests.model.broker import Broker
from tests.model.history import History
from tests.model.holdings import Holdings
from tests.model.outboxes import Outbox
from tests.model.scheduler import Scheduler
from tests.model.world_clock import WorldClock

LONGEST_CALL = dt.timedelta(seconds=3)
CONFIG = OutboxRelayConfig(
    grace=dt.timedelta(seconds=30),
    lease=dt.timedelta(seconds=60),
    batch_size=3,
    max_attempts=3,
    backoff_base=dt.timedelta(seconds=2),
    backoff_cap=dt.timedelta(seconds=20),
)
# One worker: what hangs in the broker holds up the other lanes.
POOL = EagerPoolConfig(workers=1, queue_size=4, shutdown_timeout=dt.timedelta(seconds=5))


@attrs.define(eq=False)
class World:
    """What all processes share.

    Attributes:
        holdings: Of the processes that live.
    """

    clock: WorldClock
    outbox: Outbox
    broker: Broker = attrs.field(factory=Broker)
    history: History = attrs.field(factory=lambda: History(CONFIG.max_attempts))
    holdings: list[Holdings] = attrs.field(factory=list)
    scheduler: Scheduler = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.scheduler = Scheduler(self.clock)
