"""A consumer: one thread that polls, calls the handlers, and commits what is done.

    start ──▶ poll ──▶ settle ──▶ done ──▶ commit ──┐
               ▲         │ failed                    │
               │         ▼                           │
               │       held: its partition is paused │
               └─────────────────────────────────────┘ close ──▶ commit, leave the group

One thread, so that a rebalance, which the client tells of while it polls, never meets a handler at
work: what is done is committed, and nothing is in hand but what is held back. A partition whose
record failed is paused, and polling goes on: the group would take a silent member for a dead one.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress

import attrs
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from pragmatic_ddd_kafka.client_properties import Properties
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble
from pragmatic_ddd_kafka.errors import KafkaStartError, start_error
from pragmatic_ddd_kafka.offset_commits import OffsetCommits
from pragmatic_ddd_kafka.partition_progress import PartitionProgress
from pragmatic_ddd_kafka.record import Place, ReceivedRecord
from pragmatic_ddd_kafka.settlement import Settlement

_logger = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.1
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_LEAVE_BOUND = dt.timedelta(seconds=8)


@attrs.define(eq=False, kw_only=True)
class KafkaConsumer:
    """Brings the records of topics to a handler, in the order of each partition.

    Attributes:
        properties: What the client is told.
        name: Which one it is, for the log.
        topics: What to consume.
        settlement: What becomes of each record.
    """

    properties: Properties = attrs.field(repr=False)
    name: str
    topics: Sequence[str]
    settlement: Settlement
    _client: Consumer | None = attrs.field(default=None, init=False, repr=False)
    _progress: PartitionProgress = attrs.field(factory=PartitionProgress, init=False)
    _commits: OffsetCommits = attrs.field(init=False)
    _trouble: ConnectionTrouble = attrs.field(init=False)
    _is_stopping: threading.Event = attrs.field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)
    # Held by whoever uses the client: the thread, but not while a handler is at work, or who did
    # not want to wait for that one any longer.
    _using: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _is_leaving: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._trouble = ConnectionTrouble(self.name)
        self._commits = OffsetCommits(self.name, self._progress)

    def start(self) -> None:
        """Join the group and begin to consume; whether a broker answers shows later.

        Raises:
            ConfigurationError: The client refuses a property.
            KafkaStartError: It cannot be made, or was started before.
        """
        if self._thread is not None:
            raise KafkaStartError(f"{self.name} was started before")
        callbacks = {"error_cb": self._trouble.note, "on_commit": self._commits.answered}
        try:
            client = Consumer(self.properties | callbacks)
            client.subscribe(
                list(self.topics),
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )
        except KafkaException as error:
            raise start_error(error, self.name) from error
        self._client = client
        self._thread = threading.Thread(
            target=self._work, args=(client,), name=self.name, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more records. ``close`` waits for what is in hand."""
        self._is_stopping.set()

    def close(self, *, within: dt.timedelta) -> bool:
        """Take no more records, wait for the handler at work, and leave the group.

        What is done is committed; what is not comes again, to another member. A second call does
        nothing.

        Args:
            within: How long to wait for the handler; leaving may take 8 s more.

        Returns:
            Whether no handler is at work any more.
        """
        self._is_stopping.set()
        thread, client = self._thread, self._client
        if thread is None or thread is threading.current_thread():  # a handler's own wish
            return True
        thread.join(within.total_seconds())
        if thread.is_alive() and client is not None:
            self._leave_beside(client, thread)
            thread.join(_GLANCE_SECONDS)
        return not thread.is_alive()

    def _work(self, client: Consumer) -> None:
        """Consume until the end. Whatever goes wrong, it goes on."""
        with self._using:
            while not self._is_stopping.is_set():
                try:
                    self._turn(client)
                except BaseException:
                    _logger.exception("%s failed; it goes on", self.name)
                    self._is_stopping.wait(_PAUSE_AFTER_FAILURE_SECONDS)
            self._leave(client)

    def _turn(self, client: Consumer) -> None:
        """Take one record, if there is one; try again what is due; commit."""
        message = client.poll(self._patience())
        if message is not None:
            self._take(client, message)
        for place in self._progress.due(time.monotonic()):
            self._try_again(client, place)
        if not self._is_leaving:
            self._commits.begin(client, is_idle=message is None)
        if self._trouble.is_fatal:
            self._is_stopping.set()
            _logger.error("%s consumes nothing more: the client says so, see above", self.name)

    def _patience(self) -> float:
        """Return how long to wait for a record: not at all where others wait for a commit."""
        if self._commits.can_begin:
            return 0.0
        next_due = self._progress.next_due()
        if next_due is None:
            return _GLANCE_SECONDS
        return min(_GLANCE_SECONDS, max(0.0, next_due - time.monotonic()))

    def _take(self, client: Consumer, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._note_error(error)
            return
        self._trouble.over()
        record = ReceivedRecord.of(message)
        if self._progress.queue_up(record):
            return
        until = self._settle(record)
        if self._is_leaving:
            return
        if until is None:
            self._progress.done(record)
            return
        self._progress.hold(record, until)
        client.pause([_partition(record.place)])

    def _try_again(self, client: Consumer, place: Place) -> None:
        """Go on with a partition that was held, as far as it goes."""
        is_due = True
        while (record := self._progress.first_of(place)) is not None:
            if self._is_stopping.is_set():
                return
            until = self._settle(record, is_due=is_due)
            if self._is_leaving:
                return
            if until is not None:
                self._progress.hold(record, until)
                return
            self._progress.pass_on(place)
            is_due = False  # those behind it have not waited yet
        client.resume([_partition(place)])

    def _settle(self, record: ReceivedRecord, *, is_due: bool = False) -> float | None:
        """Settle a record; whoever does not want to wait for it may use the client meanwhile."""
        self._using.release()
        try:
            return self.settlement.settle(record, is_due=is_due)
        except BaseException:  # it never raises; if it does, the record is not to be lost
            _logger.exception("record %s could not be settled; it is tried again", record.where)
            return time.monotonic() + _PAUSE_AFTER_FAILURE_SECONDS
        finally:
            self._using.acquire()

    def _note_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._MAX_POLL_EXCEEDED:  # noqa: SLF001 - the client's name
            _logger.error(
                "%s: an event was in hand for longer than kafka.max-poll-interval: the group "
                "has taken the partitions away, and the event comes again",
                self.name,
            )
        else:
            self._trouble.note(error)

    def _assigned(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        if partitions:
            _logger.info("%s has got %s", self.name, _shown(partitions))

    def _revoked(self, client: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Commit what is done of partitions that go to another member, and drop the rest."""
        places = [(each.topic, each.partition) for each in partitions]
        if not self._is_leaving:  # else it has been done, within a bound
            self._commits.finish(client, places)
        self._forget(client, places)

    def _lost(self, client: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Drop what is known of partitions that are another member's already."""
        if partitions:
            _logger.warning(
                "%s has lost %s: what is not committed comes again", self.name, _shown(partitions)
            )
        self._forget(client, [(each.topic, each.partition) for each in partitions])

    def _forget(self, client: Consumer, places: Collection[Place]) -> None:
        self._commits.forget(places)
        dropped = self._progress.forget(places)
        for record in dropped:
            self.settlement.forget(record)
        with suppress(KafkaException):
            # Paused, a partition that comes back one day would stand still.
            client.resume([_partition(place) for place in {record.place for record in dropped}])

    def _leave_beside(self, client: Consumer, thread: threading.Thread) -> None:
        """Leave the group while a handler is at work, or wait until the thread has left."""

        def leave() -> None:
            with self._using:
                if thread.is_alive() and not self._is_leaving:
                    _logger.error(
                        "%s: a handler is still at work; it leaves the group, and the event comes "
                        "again",
                        self.name,
                    )
                self._leave(client)

        helper = threading.Thread(target=leave, name=f"{self.name}, leaving", daemon=True)
        helper.start()
        helper.join(_LEAVE_BOUND.total_seconds())

    def _leave(self, client: Consumer) -> None:
        """Commit what is done, within a bound, and leave the group; once."""
        if self._is_leaving:
            return
        self._is_leaving = True
        try:
            self._commits.finish_in_time(client)
            client.close()
        except Exception:
            _logger.exception("%s could not leave its group", self.name)
        finally:
            self._client = None


def _partition(place: Place) -> TopicPartition:
    return TopicPartition(*place)


def _shown(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(f"{each.topic}/{each.partition}" for each in partitions)
