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

from pragmatic_ddd.application.events import (
    EventConsumption,
    Failure,
    ReceivedEvent,
    Redeliveries,
    is_final,
)
from pragmatic_ddd_redis.dead_letters import DeadLetters
from pragmatic_ddd_redis.delayed_copies import DelayedCopies
from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, RefusedCommandError
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.stream_entry import StreamEntry
from pragmatic_ddd_redis.stream_reader import Abandoned, StreamReader

_logger = logging.getLogger(__name__)

_LONGEST_WAIT = dt.timedelta(milliseconds=500)
_PAUSE_AFTER_TROUBLE_SECONDS = 0.2

_TROUBLES = (NotSentError, NoAnswerError, RefusedCommandError)


class AbandonedEntryError(Exception):
    """An entry was in hand each time when a member ended: it may be what ends them."""


@attrs.define(eq=False, kw_only=True)
class StreamWorker:
    """Handles the entries of one stream, one after the other, when it is this member's turn.

    Attributes:
        topic: The topic that the stream belongs to.
        reader: Reads the stream.
        lease: The right to work on it.
        is_wanted: Whether this member is to work on it; asked again and again.
        seconds_between_tries: Pause before the lease is asked for again.
        consumption: What entries are to subscribers.
        redeliveries: When an entry is tried again, and when it is given up.
        dead_letters: Where it goes then.
        delayed: What is brought later; ``None`` where nothing is.
    """

    topic: str
    reader: StreamReader
    lease: StreamLease
    is_wanted: Callable[[], bool]
    seconds_between_tries: float
    consumption: EventConsumption
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
            except _TROUBLES as error:
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
        key = self._key(entry)
        while entry.id not in self._handled:
            failure = self.redeliveries.given_up(key) or self._tried(entry)
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

    def _tried(self, entry: StreamEntry) -> Failure | None:
        """Have the entry handled; return how it failed, if it did."""
        if entry.fields is None:
            _logger.error("%s was deleted before group %s has handled it", entry, self.group)
            return None
        key = self._key(entry)
        is_killer = self._is_killer(entry)
        try:
            self.consumption.handle(
                entry.event_type,
                lambda: self._event(entry),
                key=key,
                final=is_killer or self.redeliveries.is_last_try(key),
                where=str(entry),
            )
        except _TROUBLES:
            raise  # Redis is in trouble, not the event
        except BaseException as error:  # a handler cannot end the thread
            failure = self.redeliveries.failed(key, error, is_final=is_killer or is_final(error))
            if not failure.is_final:
                _logger.warning(
                    "%s failed, try %s of %s; it will be tried again",
                    entry,
                    failure.attempts,
                    self.redeliveries.max_attempts,
                    exc_info=error,
                )
            return failure
        return None

    def _event(self, entry: StreamEntry) -> ReceivedEvent:
        if self._abandoned is not None and self._is_killer(entry):
            raise AbandonedEntryError(
                f"{self._abandoned.deliveries - 1} members of {self.group} ended while they had "
                f"it in hand"
            )
        return entry.event(self.topic)

    def _is_killer(self, entry: StreamEntry) -> bool:
        """Say whether an entry has outlived too many members: it may be what kills them.

        One more than there are tries, since a member may have ended before it began.
        """
        if self._abandoned is None or self._abandoned.entry_id != entry.id:
            return False
        return self._abandoned.deliveries > self.redeliveries.max_attempts + 1

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
        _logger.error(
            "%s is a dead letter after %s tries", entry, failure.attempts, exc_info=failure.error
        )
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

    def _key(self, entry: StreamEntry) -> str:
        return f"{self.stream}/{entry.id.decode()}"
