"""The relay as a process: life and death around ``OutboxRelay``.

    start lifecycles ──▶ relay ──first signal──▶ send in hand ends, the rest goes back
                                                   └──▶ shut lifecycles down ──▶ exit 0

Everything happens in one working thread. The main thread does nothing but wait for signals:
Python runs their handlers there, between two steps of Python code, and a call into a native
client that hangs would keep them from running.
"""

import datetime as dt
import logging
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType

import attrs

from pragmatic_ddd.ports import ILifecycle
from pragmatic_ddd_relay.application import RelayApplication

_logger = logging.getLogger(__name__)

_PATIENCE = dt.timedelta(seconds=30)

SUCCESS = 0
FAILURE = 1


@attrs.define(kw_only=True, eq=False)
class RelayService:
    """Runs one relay application until a signal, or once.

    Used once, by the main thread of a process of its own: it keeps the signals to the end.
    SIGTERM and SIGINT: the send in hand is finished, what was not sent is given back, the
    lifecycles are shut down. A second signal leaves at once, with 128 + its number.

    Attributes:
        application: What is run.
        patience: How long the end may take beyond the event manager's longest call.
        leave: Ends the process at once, with that exit code.
    """

    application: RelayApplication
    patience: dt.timedelta = _PATIENCE
    leave: Callable[[int], object] = os._exit
    _news: "queue.SimpleQueue[int | None]" = attrs.field(factory=queue.SimpleQueue, init=False)
    _is_stopping: bool = attrs.field(default=False, init=False)
    _exit_code: int = attrs.field(default=FAILURE, init=False)

    def run(self) -> int:
        """Relay until a signal; return the exit code."""
        return self._run(self._relay_until_stopped)

    def run_once(self) -> int:
        """Run rounds until nothing is due, or a signal; return the exit code.

        The exit code is 1 where something that is due could not be sent: the broker or the
        database is away.
        """
        return self._run(self._relay_what_is_due)

    def _run(self, relay: Callable[[], int]) -> int:
        worker = threading.Thread(
            target=self._work, args=(relay,), name="outbox-relay-service", daemon=True
        )
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._on_signal)
        worker.start()
        number = self._news.get()
        if number is not None:
            self._wait_for_the_end(number)
        return self._exit_code

    def _wait_for_the_end(self, number: int) -> None:
        """Wait, bounded, for the working thread, which has been asked to stop."""
        longest = self.application.relay.publisher.longest_call + self.patience
        _logger.info("%s: finishing, within %s", signal.Signals(number).name, longest)
        with suppress(queue.Empty):
            self._news.get(timeout=longest.total_seconds())
            return
        self._exit_code = FAILURE
        _logger.error(
            "the relay did not end within %s: leaving; its rows come back when their lease ends",
            longest,
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take no lock, write no log: the main thread may be in the middle of either."""
        if self._is_stopping:
            self.leave(128 + number)
        self._is_stopping = True
        self.application.relay.stop()
        self._news.put(number)

    def _work(self, relay: Callable[[], int]) -> None:
        started: list[ILifecycle] = []
        exit_code = FAILURE
        try:
            for one in self.application.lifecycles:
                one.start()
                started.append(one)
            exit_code = relay()
        except BaseException:  # the thread's outermost frame
            _logger.exception("the relay process failed")
        all_well = self._shut_down(started)
        self._exit_code = exit_code if all_well else FAILURE
        self._news.put(None)

    def _relay_until_stopped(self) -> int:
        self.application.relay.run()
        return SUCCESS

    def _relay_what_is_due(self) -> int:
        relay = self.application.relay
        while not self._is_stopping:
            done = relay.run_once()
            if relay.health.is_away:
                _logger.error("the broker is away: what is due stays in the outbox")
                return FAILURE
            if not done.claimed:
                break
            if done.untried == done.claimed and not self._is_stopping:
                _logger.error("%d messages are due and cannot be sent", done.claimed)
                return FAILURE
            _logger.info(
                "relayed: %d sent, %d failed, %d dead, %d given back",
                done.sent,
                done.failed,
                done.dead,
                done.untried,
            )
        return SUCCESS

    def _shut_down(self, started: Sequence[ILifecycle]) -> bool:
        all_well = True
        for one in reversed(started):
            try:
                one.shutdown()
            except Exception:
                _logger.exception("%r could not be shut down", one)
                all_well = False
        return all_well
