"""The relay as a process: life and death around ``OutboxRelay``.

    start lifecycles ──▶ relay ──first signal──▶ send in hand ends, the rest goes back
                                                   └──▶ shut lifecycles down ──▶ exit 0

Everything happens in one working thread. The main thread does nothing but wait for signals:
Python runs their handlers there, between two steps of Python code, and a call into a native
client that hangs would keep them from running. It waits for a byte in a pipe that each signal
leaves: a lock, or a queue, would miss a signal that comes at the moment before it waits.
"""

import datetime as dt
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

import attrs

from pragmatic_ddd.application.arguments import of_type
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports import ILifecycle
from pragmatic_ddd_relay.application import RelayApplication
from pragmatic_ddd_relay.sentences import sentence

_logger = logging.getLogger(__name__)

_PATIENCE = dt.timedelta(seconds=30)
_FOREVER = dt.timedelta(days=36_500)
_LONGEST_WAIT_SECONDS = 3600.0  # what every system takes

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

    application: RelayApplication = attrs.field(validator=of_type(RelayApplication))
    patience: dt.timedelta = attrs.field(default=_PATIENCE, validator=of_type(dt.timedelta))
    leave: Callable[[int], object] = os._exit
    _pipe: tuple[int, int] = attrs.field(factory=os.pipe, init=False)
    _signal: int | None = attrs.field(default=None, init=False)
    _exit_code: int | None = attrs.field(default=None, init=False)

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
        self._listen()
        worker.start()
        self._wait(lambda: self._signal is not None)
        if self._signal is not None and self._exit_code is None:
            self._wait_for_the_end(self._signal)
        return FAILURE if self._exit_code is None else self._exit_code

    def _listen(self) -> None:
        _, writer = self._pipe
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take no lock, write no log: the main thread may be in the middle of either."""
        if self._signal is not None:
            self.leave(128 + number)
        self._signal = number
        self.application.relay.stop()

    def _wait_for_the_end(self, number: int) -> None:
        """Wait, bounded, for the working thread, which has been asked to stop."""
        longest = self.application.relay.publisher.longest_call + self.patience
        _logger.info("%s: finishing, within %s", signal.Signals(number).name, longest)
        self._wait(lambda: False, longest)
        if self._exit_code is None:
            _logger.error(
                "the relay did not end within %s: leaving; its rows come back when their lease "
                "ends",
                longest,
            )

    def _wait(self, condition: Callable[[], bool], timeout: dt.timedelta = _FOREVER) -> None:
        """Wait until the condition holds, or the working thread has ended."""
        reader, _ = self._pipe
        end = time.monotonic() + timeout.total_seconds()
        while self._exit_code is None and not condition() and (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([reader], [], [], min(left, _LONGEST_WAIT_SECONDS))
            if readable:
                os.read(reader, 4096)

    def _work(self, relay: Callable[[], int]) -> None:
        started: list[ILifecycle] = []
        exit_code = FAILURE
        try:
            for one in self.application.lifecycles:
                one.start()
                started.append(one)
            exit_code = relay()
        except PragmaticError as error:
            _logger.error("the relay process failed: %s", sentence(error))  # noqa: TRY400
        except BaseException:  # the thread's outermost frame
            _logger.exception("the relay process failed")
        all_well = self._shut_down(started)
        self._exit_code = exit_code if all_well else FAILURE
        os.write(self._pipe[1], b"\0")

    def _relay_until_stopped(self) -> int:
        self.application.relay.run()
        return SUCCESS

    def _relay_what_is_due(self) -> int:
        relay = self.application.relay
        while self._signal is None:
            done = relay.run_once()
            if relay.health.is_away:
                _logger.error("the broker is away: what is due stays in the outbox")
                return FAILURE
            if not done.claimed:
                break
            if done.untried == done.claimed and self._signal is None:
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
            except PragmaticError as error:
                _logger.error("%r could not be shut down: %s", one, sentence(error))  # noqa: TRY400
                all_well = False
            except BaseException:  # sys.exit() too: the main thread waits for this one
                _logger.exception("%r could not be shut down", one)
                all_well = False
        return all_well
