"""Working on one stream for a consumer group: in a thread, in order, as long as the lease is held.

wait ──lease──▶ take over ──▶ read ──▶ handle ──▶ acknowledge ──▶ read …
▲                             ▲          │ failed: again after a pause, in place; at last
│                             │          ▼ a dead letter
│                             └── trouble with Redis: what is not acknowledged, again
└── lease lost, or the stream is another member's by now
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.events import Failure, Redeliveries, report_dead_letter
from pragmatic_ddd_redis.dead_letters import DeadLetters
from pragmatic_ddd_redis.delayed_copies import DelayedCopies
from pragmatic_ddd_redis.entry_trials import TROUBLES, EntryTrials, key_of
from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, RefusedCommandError
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.stream_entry import StreamEntry
from pragmatic_ddd_redis.stream_reader import Abandoned, StreamReader

_logger = logging.getLogger(__name__)

_LONGEST_WAIT = dt.timedelta(milliseconds=500)
_PAUSE_AFTER_TROUBLE_SECONDS = 0.2


@attrs.define(eq=False, kw_only=True)
class StreamWorker:
    """Handles the entries of one stream, one after the other, when it is this member's turn.

    Attributes:
        reader: Reads the stream.
        lease: The right to work on it.
        is_wanted: Whether this member is to work on it; asked again and again.
        seconds_between_tries: Pause before the lease is asked for again.
        trials: Has an entry handled, once.
        redeliveries: When an entry is tried again, and when it is given up.
        dead_letters: Where it goes then.
        delayed: What is brought later; ``None`` where nothing is.
    """

    reader: StreamReader
    lease: StreamLease
    is_wanted: Callable[[], bool]
    seconds_between_tries: float
    trials: EntryTrials
    redeliveries: Redeliveries
    dead_letters: DeadLetters
    delayed: DelayedCopies | None
    _has_taken_over: bool = attrs.field(default=False, init=False)  # since it has the lease
    _abandoned: Abandoned | None = attrs.field(default=None, init=False)
    _handled: set[bytes] = attrs.field(factory=set, init=False)  # and not acknowledged
    _is_in_trouble: bool = attrs.field(default=False, init=False)
    _stopping: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False, repr=False)

    @property
    def stream(self) -> str:
        """The stream."""
        return self.reader.stream

    @property
    def group(self) -> str:
        """The consumer group."""
        return self.reader.group

    def start(self) -> None:
        """Begin to work in a thread."""
        self._thread = threading.Thread(
            target=self._work, name=f"redis-stream-{self.stream}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take nothing new in hand, from now on."""
        self._stopping.set()

    def has_ended(self, within_seconds: float) -> bool:
        """Wait for the handler at work; say whether it has returned."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, within_seconds))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._take_a_step()
                self._note_recovery()
            except TROUBLES as error:
                self._note_trouble(error)
            except Exception:
                _logger.exception("group %s failed on %s; it goes on", self.group, self.stream)
                self.reader.begin_anew()
        self._release()

    def _take_a_step(self) -> None:
        if not self.lease.is_held:
            self._acquire()
            return
        if not self.is_wanted():
            self._release()
            return
        if not self._has_taken_over:
            self._take_over()
        until_due = None if self.delayed is None else self.delayed.bring(self.stream)
        entries = self.reader.read()
        if entries:
            self._handle_all(entries)
        elif entries is not None:
            self.reader.wait(_LONGEST_WAIT if until_due is None else min(_LONGEST_WAIT, until_due))

    def _acquire(self) -> None:
        if not self.is_wanted() or not self.lease.acquire():
            self._stopping.wait(self.seconds_between_tries)
            return
        self._has_taken_over = False

    def _take_over(self) -> None:
        self._abandoned = self.reader.take_over()
        self._has_taken_over = True
        _logger.info("group %s: this member works on %s", self.group, self.stream)

    def _handle_all(self, entries: list[StreamEntry]) -> None:
        """Handle entries in order; where it has to stop, the rest is read again."""
        for entry in entries:
            if not self._may_go_on() or not self._is_settled(entry):
                self.reader.begin_anew()
                return

    def _may_go_on(self) -> bool:
        return self.lease.is_held and not self._stopping.is_set() and self.is_wanted()

    def _is_settled(self, entry: StreamEntry) -> bool:
        """Handle an entry until it is done with; say whether it is, and the next one may come."""
        key = key_of(entry)
        while entry.id not in self._handled:
            failure = self.redeliveries.given_up(key) or self.trials.tried(entry, self._abandoned)
            if failure is None:
                self._handled.add(entry.id)
            elif failure.is_final and self._is_buried(entry, failure):
                self.redeliveries.settled(key)
                return True
            elif not self._may_go_on_after(failure):
                return False
        self.reader.acknowledge(entry)
        self._handled.discard(entry.id)
        self.redeliveries.settled(key)
        return True

    def _is_buried(self, entry: StreamEntry, failure: Failure) -> bool:
        """Make a dead letter of an entry that is given up; say whether it is done."""
        try:
            is_done = self.dead_letters.bury(entry, failure, self.lease)
        except RefusedCommandError:
            self.redeliveries.postpone(failure)
            _logger.exception(
                "%s failed for good and could not be made a dead letter; it blocks its stream, "
                "and will be tried again",
                entry,
            )
            return False
        if not is_done:
            self.lease.give_up()
            return False
        report_dead_letter(_logger, entry, failure)
        return True

    def _may_go_on_after(self, failure: Failure) -> bool:
        """Wait for the end of a pause; say whether work may go on then."""
        if self._may_go_on():
            self._stopping.wait(max(0.0, failure.not_before - time.monotonic()))
        return self._may_go_on()

    def _release(self) -> None:
        try:
            self.lease.release()
        except (NotSentError, NoAnswerError) as error:
            _logger.info("%s is free when the lease of this member ends: %s", self.stream, error)

    def _note_trouble(self, error: Exception) -> None:
        """Log the beginning of a trouble, not each moment of it; then wait a little."""
        self.reader.begin_anew()
        if not self._is_in_trouble:
            self._is_in_trouble = True
            _logger.warning("group %s cannot read %s now: %s", self.group, self.stream, error)
        self._stopping.wait(_PAUSE_AFTER_TROUBLE_SECONDS)

    def _note_recovery(self) -> None:
        if self._is_in_trouble:
            self._is_in_trouble = False
            _logger.info("group %s reads %s again", self.group, self.stream)
