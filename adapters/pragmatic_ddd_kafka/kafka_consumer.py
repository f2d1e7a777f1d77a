"""A consumer: one thread that polls, calls the handlers, and commits what is done.

    start ──▶ poll ──▶ settle ──▶ done ──▶ commit ──┐
               ▲         │ failed                    │
               │         ▼                           │
               │       held: its partition is paused │
               └─────────────────────────────────────┘ close ──▶ commit, leave the group

One thread, so that a rebalance, which the client tells of while it polls, never meets a handler at
work: what is done is committed, and nothing is in hand but what is held back. A partition whose
record failed is paused, and polling goes on: the group would take a silent member for a dead one.
So no more than one record is settled from one poll to the next, however many are due.
"""

import logging
import threading
import time
from collections.abc import Sequence

import attrs
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from pragmatic_ddd_kafka.client_properties import Properties
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble
from pragmatic_ddd_kafka.errors import KafkaStartError
from pragmatic_ddd_kafka.group_membership import GroupMembership
from pragmatic_ddd_kafka.offset_commits import OffsetCommits
from pragmatic_ddd_kafka.partition_progress import PartitionProgress
from pragmatic_ddd_kafka.record import ReceivedRecord
from pragmatic_ddd_kafka.settlement import Settlement

_logger = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.1
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_LEAVE_BOUND_SECONDS = 8.0


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
    _membership: GroupMembership = attrs.field(init=False)
    _is_stopping: threading.Event = attrs.field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)
    # Held by whoever uses the client: the thread, but not while a handler is at work, or who did
    # not want to wait for that one any longer.
    _using: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._trouble = ConnectionTrouble(self.name)
        self._commits = OffsetCommits(self.name, self._progress)
        self._membership = GroupMembership(
            name=self.name,
            settlement=self.settlement,
            progress=self._progress,
            commits=self._commits,
            trouble=self._trouble,
        )

    def start(self) -> None:
        """Join the group and begin to consume; whether a broker answers shows later.

        Raises:
            ConfigurationError: The client refuses a property.
            KafkaStartError: It cannot be made, or was started before.
        """
        if self._thread is not None:
            raise KafkaStartError(f"{self.name} was started before")
        client = self._membership.join(self.properties, self.topics)
        self._client = client
        self._thread = threading.Thread(
            target=self._work, args=(client,), name=self.name, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more records. ``close`` waits for what is in hand."""
        self._is_stopping.set()

    def close(self, *, until: float) -> bool:
        """Take no more records, wait for the handler at work, and leave the group.

        What is done is committed; what is not comes again, to another member. A second call does
        nothing.

        Args:
            until: Reading of the monotonic clock at which waiting for the handler ends; leaving
                may take until 8 s after it.

        Returns:
            Whether no handler is at work any more.
        """
        self._is_stopping.set()
        thread, client = self._thread, self._client
        if thread is None or thread is threading.current_thread():  # a handler's own wish
            return True
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive() and client is not None:
            self._leave_beside(client, thread, until=until + _LEAVE_BOUND_SECONDS)
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
        """Poll; settle one record, if there is one; commit."""
        message = client.poll(self._patience())
        received = None if message is None else self._received(message)
        due = self._progress.due(time.monotonic())
        if received is not None and not self._progress.queue_up(received):
            if due is None:
                self._take(client, received)
            else:
                self._progress.put_off(received, time.monotonic())
        if due is not None:
            self._try_again(client, due)
        if not self._membership.is_leaving:
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

    def _received(self, message: Message) -> ReceivedRecord | None:
        """Return the record in a message; ``None`` where it is an error."""
        error = message.error()
        if error is not None:
            self._note_error(error)
            return None
        self._trouble.over()
        return ReceivedRecord.of(message)

    def _take(self, client: Consumer, record: ReceivedRecord) -> None:
        """Settle a record that has just come."""
        until = self._settle(record)
        if self._membership.is_leaving:
            return
        if until is None:
            self._progress.done(record)
        else:
            self._hold(client, record, until)

    def _try_again(self, client: Consumer, record: ReceivedRecord) -> None:
        """Settle the first record of a partition that was held."""
        until = self._settle(record, is_due=self._progress.has_waited(record))
        if self._membership.is_leaving:
            return
        if until is not None:
            self._hold(client, record, until)
        elif not self._progress.pass_on(record, time.monotonic()):
            client.resume([_partition_of(record)])

    def _hold(self, client: Consumer, record: ReceivedRecord, until: float) -> None:
        self._progress.hold(record, until)
        client.pause([_partition_of(record)])

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

    def _leave_beside(self, client: Consumer, thread: threading.Thread, *, until: float) -> None:
        """Leave the group while a handler is at work, or wait until the thread has left."""

        def leave() -> None:
            with self._using:
                if thread.is_alive() and not self._membership.is_leaving:
                    _logger.error(
                        "%s: a handler is still at work; it leaves the group, and the event comes "
                        "again",
                        self.name,
                    )
                self._leave(client)

        helper = threading.Thread(target=leave, name=f"{self.name}, leaving", daemon=True)
        helper.start()
        helper.join(max(0.0, until - time.monotonic()))

    def _leave(self, client: Consumer) -> None:
        self._membership.leave(client)
        self._client = None


def _partition_of(record: ReceivedRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
