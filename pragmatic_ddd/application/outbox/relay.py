"""The relay: claims due messages, publishes them, settles them; the net under the eager path.

    start() ──▶ round ──found some──▶ round … ──otherwise──▶ sleep until due, woken or poll ──┐
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
from types import TracebackType
from typing import Self

import attrs

from pragmatic_ddd.application.arguments import check_type, implements, of_type
from pragmatic_ddd.application.exiting import call_at_exit
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.application.outbox.answers import Answers
from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.maintenance import OutboxMaintenance
from pragmatic_ddd.application.outbox.relay_errors import RelayErrors
from pragmatic_ddd.application.outbox.relay_pace import RelayPace
from pragmatic_ddd.application.outbox.relay_round import RelayRound
from pragmatic_ddd.application.outbox.relay_rounds import RelayRounds
from pragmatic_ddd.application.outbox.reused_threads import ReusedThreads
from pragmatic_ddd.application.outbox.threads import OneThread, is_of_the_main_thread
from pragmatic_ddd.application.outbox.wave_delivery import Delivery, delivery_through
from pragmatic_ddd.application.wake_up import WakeUp
from pragmatic_ddd.ports.events import IStoredEventPublisher
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore

_logger = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class OutboxRelay:
    """Brings what is due in the outbox to the broker. Any number may run, on any hosts.

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
        TypeError: Something else was given than is asked for.
    """

    store: IOutboxStore = attrs.field(validator=implements(IOutboxStore))
    publisher: IStoredEventPublisher = attrs.field(validator=implements(IStoredEventPublisher))
    config: OutboxRelayConfig = attrs.field(
        factory=OutboxRelayConfig.default_config, validator=of_type(OutboxRelayConfig)
    )
    health: BrokerHealth = attrs.field(factory=BrokerHealth, validator=of_type(BrokerHealth))
    metrics: IEventMetrics = attrs.field(factory=NoMetrics, validator=implements(IEventMetrics))
    monotonic: Callable[[], float] = time.monotonic
    _maintenance: OutboxMaintenance = attrs.field(init=False)
    _pace: RelayPace = attrs.field(init=False)
    _calls: WakeUp = attrs.field(init=False)
    _stopping: bool = attrs.field(default=False, init=False)
    # Reentrant: a signal handler may shut down the relay that runs in its own thread.
    _running: threading.RLock = attrs.field(init=False)
    _is_running: bool = attrs.field(init=False)
    _rounds: RelayRounds = attrs.field(init=False)
    _thread: threading.Thread | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.config.check_against(self.publisher.longest_call)
        self._maintenance = OutboxMaintenance(
            store=self.store,
            metrics=self.metrics,
            retention=self.config.retention,
            monotonic=self.monotonic,
        )
        self._pace = RelayPace(
            poll_interval=self.config.poll_interval,
            store=self.store,
            health=self.health,
            maintenance=self._maintenance,
        )
        self._begin_idle()
        reset_in_child(self._begin_idle)

    def _begin_idle(self) -> None:
        self._calls = WakeUp()
        self._running = threading.RLock()
        self._is_running = False
        self._thread = None
        threads = ReusedThreads()
        self._rounds = RelayRounds(
            store=self.store,
            delivery=self._new_delivery(threads),
            threads=threads,
            metrics=self.metrics,
            health=self.health,
            config=self.config,
            is_stopping=lambda: self._stopping,
            monotonic=self.monotonic,
        )

    def _new_delivery(self, threads: ReusedThreads) -> Delivery:
        answers = Answers(
            health=self.health,
            backoff=self.config.backoff,
            max_attempts=self.config.max_attempts,
            metrics=self.metrics,
            path=PublishPath.RELAY,
        )
        return delivery_through(self.publisher, answers, self.monotonic, threads.start)

    def run_once(self) -> RelayRound:
        """Do one round: one batch, in a number of statements that does not depend on its size.

        Raises:
            RuntimeError: It runs already, in this thread or another one.
            OutboxStoreError: The database failed. Results that could not be written are
                written by the next round; other rows come back with their lease.
            KeyboardInterrupt: Ctrl-C while messages were sent: what was confirmed has been
                marked, and the rest given back, unless the database failed, too.
        """
        if self._is_running or not self._running.acquire(blocking=False):
            raise RuntimeError("this relay runs already")
        try:
            return self._rounds.once()
        finally:
            self._running.release()

    def start(self) -> None:
        """Run rounds in a thread until ``shutdown``, or the end of the interpreter.

        A second call does nothing; a forked child may start its own.

        Raises:
            RuntimeError: It was shut down before.
        """
        if self._stopping:
            raise RuntimeError("this relay was shut down: make a new one")
        if self._thread is None:
            self._thread = OneThread("outbox-relay", self.run)
            self._thread.start()
            call_at_exit(self.shutdown)

    def run(self) -> None:
        """Run rounds in the caller's thread until another one calls ``stop`` or ``shutdown``.

        Raises:
            RuntimeError: It runs already.
        """
        if self._is_running or not self._running.acquire(blocking=False):
            if self._stopping:
                return  # shutdown() has looked in just before the first round
            raise RuntimeError("this relay runs already")
        try:
            self._is_running = True
            self._run()
        finally:
            self._is_running = False
            self._running.release()

    def wake(self) -> None:
        """Cut the present sleep short: something is due. A hint; polling is the truth."""
        self._calls.call()

    def stop(self) -> None:
        """Ask it to stop, without waiting: what is not yet sent of its batch is given back.

        Takes no lock, so a signal handler may call it, in whatever thread the relay runs.
        """
        self._stopping = True
        self._calls.call()

    def shutdown(self, timeout: dt.timedelta = dt.timedelta(seconds=30)) -> bool:
        """Stop, and wait until the batch in hand is settled. A second call does nothing.

        Args:
            timeout: How long to wait for a publish that is under way.

        Returns:
            Whether it has ended; otherwise its rows come back when their lease ends.
        """
        check_type("timeout", timeout, dt.timedelta)
        self.stop()
        deadline = time.monotonic() + timeout.total_seconds()
        if not self._running.acquire(timeout=timeout.total_seconds()):
            return False
        self._running.release()
        if self._is_running:
            return False  # in this very thread: it ends once this call has returned
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
        return self._thread is None or not self._thread.is_alive()

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

    def _run(self) -> None:
        size, interval = self.config.batch_size, self.config.poll_interval
        _logger.info("outbox relay runs: batch %d, poll interval %s", size, interval)
        try:
            self._run_rounds()
        finally:  # after Ctrl-C, too
            try:
                self._rounds.end()
            except Exception:
                _logger.exception("outbox relay stops without having written all results")
        _logger.info("outbox relay has stopped")

    def _run_rounds(self) -> None:
        errors = RelayErrors(poll_interval=self.config.poll_interval, metrics=self.metrics)
        while not self._stopping:
            self._calls.forget()
            try:
                done = self._rounds.next()
                self._maintenance.step(round_was_full=done.full)
                pause = self._pace.pause_after(done)
                errors.forget()
            except BaseException as error:  # the thread's outermost frame
                if not isinstance(error, Exception) and is_of_the_main_thread():
                    raise  # a person's, or a signal handler's
                pause = errors.note(error)
            self._sleep(pause, may_be_woken=not errors.in_a_row)

    def _sleep(self, pause: dt.timedelta, *, may_be_woken: bool) -> None:
        end = time.monotonic() + pause.total_seconds()
        while not self._stopping and (left := end - time.monotonic()) > 0.0:
            if self._calls.sleep(left) and may_be_woken:
                return
