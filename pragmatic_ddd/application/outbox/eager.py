"""The eager publisher: pushes stored events right after the commit, in order, on a bounded pool.

    reserve ──▶ INSERT, COMMIT ──▶ announce ──▶ lane ──▶ worker: publish ──▶ coordinator: settle
       └─────▶ no commit ──▶ cancel              └──no owner──▶ coordinator: claim

Workers send, each one aggregate at a time. One coordinator thread talks to the outbox: it writes
all results that have gathered meanwhile in one statement, and claims what was not born owned.
Whatever goes wrong, the rows stay in the outbox and the relay is the net.
"""

import datetime as dt
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import attrs

from pragmatic_ddd.application.arguments import can_be_called, check_type, implements, of_type
from pragmatic_ddd.application.exiting import call_at_exit
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.application.outbox.answers import Answers
from pragmatic_ddd.application.outbox.config import EagerPoolConfig, OutboxRelayConfig
from pragmatic_ddd.application.outbox.coordinator import Coordinator
from pragmatic_ddd.application.outbox.delivery import LaneDelivery
from pragmatic_ddd.application.outbox.eager_worker import EagerWorker
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from pragmatic_ddd.application.outbox.threads import end_within, start_thread
from pragmatic_ddd.ports.events import IStoredEventPublisher
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import Reservation, StoredMessage

_logger = logging.getLogger(__name__)

_NOTHING = dt.timedelta()
_A_SECOND = dt.timedelta(seconds=1)


def _nobody_to_wake() -> None: ...


@attrs.define(kw_only=True, eq=False)
class EagerOutboxPublisher:
    """Publishes what this process has committed, a few milliseconds later. Safe to share.

    Its threads start with the first event, are made anew in a forked child, and never keep the
    interpreter alive: at exit, what is queued is sent within ``pool.shutdown_timeout``, or given
    back.

    Attributes:
        store: The outbox.
        publisher: The event manager, already started.
        config: The configuration that the relay has, too.
        pool: How many threads and how much memory it may use.
        health: What is known of the broker; share it with the relay of the process.
        metrics: What is counted.
        wake_relay: Called when something is left to the relay, such as ``relay.wake``.

    Raises:
        ConfigurationError: Lease or grace is too short for the publisher's longest call.
        TypeError: Something else was given than is asked for.
    """

    store: IOutboxStore = attrs.field(validator=implements(IOutboxStore))
    publisher: IStoredEventPublisher = attrs.field(validator=implements(IStoredEventPublisher))
    config: OutboxRelayConfig = attrs.field(
        factory=OutboxRelayConfig.default_config, validator=of_type(OutboxRelayConfig)
    )
    pool: EagerPoolConfig = attrs.field(factory=EagerPoolConfig, validator=of_type(EagerPoolConfig))
    health: BrokerHealth = attrs.field(factory=BrokerHealth, validator=of_type(BrokerHealth))
    metrics: IEventMetrics = attrs.field(factory=NoMetrics, validator=implements(IEventMetrics))
    wake_relay: Callable[[], None] = attrs.field(default=_nobody_to_wake, validator=can_be_called())
    monotonic: Callable[[], float] = time.monotonic
    _delivery: LaneDelivery = attrs.field(init=False)
    _board: LaneBoard = attrs.field(init=False)
    _starting: threading.Lock = attrs.field(init=False)
    _threads: list[threading.Thread] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.config.check_against(self.publisher.longest_call)
        self._delivery = LaneDelivery(
            publisher=self.publisher,
            answers=Answers(
                health=self.health,
                backoff=self.config.backoff,
                max_attempts=self.config.max_attempts,
                metrics=self.metrics,
                path=PublishPath.EAGER,
            ),
            monotonic=self.monotonic,
        )
        self._begin_empty()
        reset_in_child(self._begin_empty)

    def _begin_empty(self) -> None:
        self._board = LaneBoard(self.pool.queue_size, self.monotonic)
        self._starting = threading.Lock()
        self._threads = []

    def reserve(self, count: int) -> Reservation | None:
        """Reserve room for events that are about to be inserted.

        Returns:
            What the rows are to be born owned with; ``None`` while it could not push them: it
            is full, closing, or the broker is away. Then the rows have no owner, and the relay
            may take them at once.
        """
        if self.health.probe_in > _NOTHING:
            return None
        token = os.urandom(16).hex()
        if not self._board.reserve(token, count, self._end_of_grace()):
            return None
        return Reservation(claim_token=token, grace=self.config.grace)

    def cancel(self, reservation: Reservation) -> None:
        """Give up a reservation whose transaction ended without a commit. Never raises."""
        self._board.redeem(reservation.claim_token)

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        """Push committed messages. Returns at once; never raises.

        Call it after the outermost commit, with the messages in the order in which they were
        stored. What cannot be pushed stays in the outbox for the relay.
        """
        try:
            self._announce(stored, reservation)
        except Exception:  # what goes wrong after a commit is not the committer's business
            _logger.exception("eager publisher failed: %d events left to the relay", len(stored))
            self._leave_to_relay(len(stored))

    def wait_until_idle(self, timeout: dt.timedelta) -> bool:
        """Wait until nothing is queued or in flight; return whether that was reached in time."""
        check_type("timeout", timeout, dt.timedelta)
        return self._board.wait_until_idle(timeout.total_seconds())

    def shutdown(self) -> bool:
        """Send what is queued within ``pool.shutdown_timeout``, give back the rest, and end.

        A second call only waits for what the first has left unfinished; a signal handler may
        call it. Afterwards nothing is reserved or pushed any more.

        Returns:
            Whether every thread has ended; otherwise a publish hangs, and its row comes back
            when its grace is over.
        """
        board = self._board
        was_shut_down = board.is_aborted
        board.close()
        if not was_shut_down:
            board.wait_until_idle(self.pool.shutdown_timeout.total_seconds())
        board.close(abort=True)
        # A second call waits, too: the first may have come from a signal handler that had
        # interrupted a transaction, whose locks kept the results from being written.
        has_ended = end_within(self.publisher.longest_call + _A_SECOND, list(self._threads))
        if not has_ended and not was_shut_down:
            _logger.warning(
                "eager publisher ends, but a call of its threads to the event manager or the "
                "outbox has not: the longest is said to be %s; what it holds comes back when its "
                "grace is over",
                self.publisher.longest_call,
            )
        return has_ended

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _end_of_grace(self) -> float:
        return self.monotonic() + self.config.grace.total_seconds()

    def _announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        token = None if reservation is None else reservation.claim_token
        if not stored:
            if token is not None:
                self._board.redeem(token)
            return
        if token is None and self.health.is_away:
            self._leave_to_relay(len(stored))
            return
        if self._board.put(stored, token=token, give_up_at=self._end_of_grace()):
            self._start_threads()
            return
        self._board.leave_behind(stored)
        owned = [one.claim for one in stored if one.claim is not None]
        if owned:
            # Refused only while closing or after their grace: no coordinator could try again in
            # time. If they cannot be given back, they come back when that grace is over.
            self.store.release(owned)
        self._leave_to_relay(len(stored))

    def _leave_to_relay(self, count: int) -> None:
        try:
            if count:
                self.metrics.left_to_relay(count)
            self.wake_relay()
        except Exception:  # the relay polls, so nothing is lost
            _logger.exception("eager publisher could not wake the relay")

    def _start_threads(self) -> None:
        if len(self._threads) > self.pool.workers:
            return
        with self._starting:
            if not self._threads:
                self._start("outbox-eager-coordinator", self._coordinator(self._board).run)
                call_at_exit(self.shutdown)
            while len(self._threads) <= self.pool.workers:
                self._start(f"outbox-eager-{len(self._threads)}", self._worker(self._board).run)

    def _start(self, name: str, target: Callable[[], None]) -> None:
        self._threads.append(start_thread(name, target))

    def _coordinator(self, board: LaneBoard) -> Coordinator:
        return Coordinator(
            board=board,
            store=self.store,
            config=self.config,
            health=self.health,
            metrics=self.metrics,
            leave_to_relay=self._leave_to_relay,
        )

    def _worker(self, board: LaneBoard) -> EagerWorker:
        return EagerWorker(
            board=board,
            delivery=self._delivery,
            health=self.health,
            leave_to_relay=self._leave_to_relay,
        )
