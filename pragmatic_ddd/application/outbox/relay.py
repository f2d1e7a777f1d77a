"""The relay: claims due messages, publishes them, settles them; the net under the eager path.

    start() ──▶ round ──full batch──▶ round … ──otherwise──▶ sleep until due, woken or poll ──┐
                  ▲                                                                           │
                  └───────────────────────────────────────────────────────────────────────────┘

One thread decides; lanes of different aggregates may be sent side by side. Any number of relays
may run on any number of hosts, without a coordinator.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import attrs

from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.application.outbox.delivery import LaneDelivery, lanes
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.maintenance import OutboxMaintenance
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports.events import IStoredEventPublisher
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import ClaimedMessage, IOutboxStore

_logger = logging.getLogger(__name__)

_AFTER_ERROR = Backoff(base=dt.timedelta(seconds=1), cap=dt.timedelta(seconds=30))
_SHORTEST_SLEEP = dt.timedelta(milliseconds=1)


@attrs.frozen(kw_only=True)
class RelayRound:
    """What one round did.

    Attributes:
        claimed: Messages taken.
        sent: Confirmed and recorded as SENT.
        failed: Failed, to be tried again.
        dead: Ended FAILED.
        untried: Given back as they were.
        lost: Results that were refused, because the lease was over.
        full: Whether the batch was full, so that more is probably due.
    """

    claimed: int = 0
    sent: int = 0
    failed: int = 0
    dead: int = 0
    untried: int = 0
    lost: int = 0
    full: bool = False


@attrs.define(kw_only=True, eq=False)
class OutboxRelay:
    """Claims, publishes, records. Safe to run on any number of hosts.

    ``run_once`` is one round in the caller's thread; ``start`` runs rounds in a thread of its
    own until ``shutdown``. The thread survives every error.

    Attributes:
        store: The outbox.
        publisher: The event manager, already started.
        config: How eagerly it works.
        health: What is known of the broker; share it with the eager publisher of the process.
        metrics: What is counted.

    Raises:
        ConfigurationError: Lease or grace is too short for the publisher's longest call.
    """

    store: IOutboxStore
    publisher: IStoredEventPublisher
    config: OutboxRelayConfig = attrs.field(factory=OutboxRelayConfig.default_config)
    health: BrokerHealth = attrs.field(factory=BrokerHealth)
    metrics: IEventMetrics = attrs.field(factory=NoMetrics)
    monotonic: Callable[[], float] = time.monotonic
    _delivery: LaneDelivery = attrs.field(init=False)
    _maintenance: OutboxMaintenance = attrs.field(init=False)
    _pool: ThreadPoolExecutor | None = attrs.field(default=None, init=False)
    _woken: threading.Event = attrs.field(factory=threading.Event, init=False)
    _stopping: threading.Event = attrs.field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.config.check_against(self.publisher.longest_call)
        self._delivery = LaneDelivery(
            publisher=self.publisher,
            health=self.health,
            backoff=self.config.backoff,
            max_attempts=self.config.max_attempts,
            metrics=self.metrics,
            path=PublishPath.RELAY,
            monotonic=self.monotonic,
        )
        self._maintenance = OutboxMaintenance(
            store=self.store,
            metrics=self.metrics,
            retention=self.config.retention,
            monotonic=self.monotonic,
        )

    def run_once(self) -> RelayRound:
        """Claim one batch, publish it, settle it; a constant number of statements.

        Raises:
            OutboxStoreError: The database failed; what was claimed comes back with its lease.
        """
        size = self.health.allowance(self.config.batch_size)
        if not size:
            return RelayRound()
        claimed = self.store.claim_pending(batch_size=size, lease=self.config.lease)
        if not claimed:
            self.health.give_back_probe()
            return RelayRound()
        outcome = self._deliver(claimed)
        done = RelayRound(
            claimed=len(claimed),
            sent=len(outcome.sent),
            failed=len(outcome.failed),
            dead=len(outcome.dead),
            untried=len(outcome.untried),
            full=len(claimed) >= size or claimed[0].taken_over,
        )
        outcome.write(self.store, self.metrics, PublishPath.RELAY)
        if done.sent == done.claimed:
            self.health.batch_went_well(self.config.batch_size)
        return attrs.evolve(done, lost=outcome.lost)

    def start(self) -> None:
        """Run rounds in a thread until ``shutdown``. A second call does nothing.

        Raises:
            RuntimeError: It was shut down before.
        """
        if self._stopping.is_set():
            raise RuntimeError("this relay was shut down: make a new one")
        if self._thread is None:
            self._thread = threading.Thread(target=self.run, name="outbox-relay", daemon=True)
            self._thread.start()

    def run(self) -> None:
        """Run rounds in the caller's thread until another one calls ``stop`` or ``shutdown``."""
        _logger.info(
            "outbox relay runs: batch %d, poll interval %s",
            self.config.batch_size,
            self.config.poll_interval,
        )
        errors = 0
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                done = self.run_once()
                self._maintenance.step(round_was_full=done.full)
                pause = self._pause_after(done)
                errors = 0
            except Exception as error:  # noqa: BLE001  # the thread's outermost frame
                errors += 1
                pause = _AFTER_ERROR.delay(errors)
                self._report(error, errors, pause)
            if pause > dt.timedelta():
                self._woken.wait(pause.total_seconds())
        self._close_pool()
        _logger.info("outbox relay has stopped")

    def wake(self) -> None:
        """Cut the present sleep short: something is due. A hint; polling is the truth."""
        self._woken.set()

    def stop(self) -> None:
        """Ask it to stop, without waiting: what is not yet sent of its batch is given back.

        Takes no lock but that of an event, so a signal handler may call it.
        """
        self._stopping.set()
        self._woken.set()

    def shutdown(self, timeout: dt.timedelta = dt.timedelta(seconds=30)) -> bool:
        """Stop, and wait until the batch in hand is settled. A second call does nothing.

        Args:
            timeout: How long to wait for a publish that is under way.

        Returns:
            Whether the thread has ended; otherwise its rows come back when their lease ends.
        """
        self.stop()
        thread = self._thread
        if thread is None:
            self._close_pool()
            return True
        if thread is not threading.current_thread():
            thread.join(timeout.total_seconds())
        return not thread.is_alive()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _deliver(self, claimed: list[ClaimedMessage]) -> Settlement:
        setbacks = self.health.setbacks

        def stopped() -> bool:
            # An interpreter that exits waits for the pool's threads: do not keep it.
            exiting = not threading.main_thread().is_alive()
            return exiting or self._stopping.is_set() or self.health.setbacks != setbacks

        def deliver(lane: list[ClaimedMessage]) -> Settlement:
            return self._delivery.deliver(lane, stopped=stopped)

        by_aggregate = lanes(claimed)
        outcome = Settlement()
        for settlement in self._map(deliver, by_aggregate):
            outcome.add(settlement)
        return outcome

    def _map(
        self,
        deliver: Callable[[list[ClaimedMessage]], Settlement],
        by_aggregate: list[list[ClaimedMessage]],
    ) -> "list[Settlement]":
        side_by_side = self.publisher.side_by_side
        if side_by_side <= 1 or len(by_aggregate) <= 1:
            return [deliver(lane) for lane in by_aggregate]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(side_by_side, thread_name_prefix="outbox-relay-send")
        return list(self._pool.map(deliver, by_aggregate))

    def _close_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _pause_after(self, done: RelayRound) -> dt.timedelta:
        if done.full and not self.health.is_away:
            return dt.timedelta()
        pause = self.config.poll_interval
        if self.health.is_away:
            return max(min(pause, self.health.probe_in), _SHORTEST_SLEEP)
        next_due = self.store.next_due_in()
        if next_due is not None:
            pause = min(pause, next_due)
        return max(pause, _SHORTEST_SLEEP)

    def _report(self, error: Exception, errors: int, pause: dt.timedelta) -> None:
        self.metrics.relay_failed()
        known = isinstance(error, PragmaticError)
        if known and errors > 1:
            _logger.debug("outbox relay failed %d times in a row: %s", errors, error)
            return
        _logger.error(
            "outbox relay failed and goes on after %.1f s: %s",
            pause.total_seconds(),
            error,
            exc_info=not known,
        )
