"""Port: where events wait until the broker has them.

The store owns the row and its state machine; it never talks to a broker.

    PENDING ──claim──▶ PROCESSING ──mark_sent────▶ SENT
       ▲                   │
       ├───────release─────┤
       ├────retry_later────┤
       │                   └──────mark_failed────▶ FAILED ──skip──▶ SKIPPED
       └───────────────────────────replay──────────┘

A row may be *born owned*: stored PENDING with the claim token of the process that stored it,
which may then push it without a claim, and mark it SENT, until its grace is over.

All times are the store's: a database's clock, in UTC. A *lease* is the time in which a row is
its holder's; ``deadline`` is the same on the monotonic clock of the holder's process.
"""

import datetime as dt
import enum
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs
from attrs import validators


class OutboxStatus(enum.StrEnum):
    """The state of a row.

    Attributes:
        PENDING: Waits: for its reservation to be used, for its retry, or to be claimed.
        PROCESSING: Claimed; its holder alone may settle it until its lease is over.
        SENT: Confirmed by the broker.
        FAILED: Dead letter; blocks its aggregate until a person replays or skips it.
        SKIPPED: A person decided that it is not sent; no longer blocks.
    """

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    SENT = "SENT"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


def _whole_payload(_: object, attribute: "attrs.Attribute[bytes]", value: object) -> None:
    if not isinstance(value, bytes) or not value or b"\0" in value:
        raise ValueError(f"{attribute.name}: UTF-8 text in bytes, not empty, without NUL")


@attrs.frozen(kw_only=True)
class OutboxMessage:
    """An event as it is stored and sent: bytes, and what must be known without reading them.

    Attributes:
        message_id: The event's id; unique, stable over every resend.
        aggregate_type: Stable name of the aggregate's class.
        aggregate_id: Identity of the aggregate, as text.
        aggregate_version: Version of the aggregate in whose change the event was stored;
            ``None`` where the aggregate has none: then its events keep no promised order.
        event_index: Place among the events of that version, from 0.
        event_type: Stable name of the event's class.
        event_version: Schema version of the payload.
        payload: UTF-8 JSON; exactly these bytes are sent.
        headers: Names and values in text, for brokers and consumers.
    """

    message_id: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int | None = None
    event_index: int = 0
    event_type: str
    event_version: int = 1
    payload: bytes = attrs.field(validator=_whole_payload, repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def aggregate(self) -> tuple[str, str]:
        """The aggregate within which order is kept: its type and id."""
        return self.aggregate_type, self.aggregate_id


@attrs.frozen(kw_only=True)
class Reservation:
    """A wish to have rows born owned.

    Attributes:
        claim_token: New for each storing transaction, from the system's random source.
        grace: How long the rows stay the storing process's; afterwards anyone may claim them.
    """

    claim_token: str
    grace: dt.timedelta = attrs.field(validator=validators.gt(dt.timedelta()))


@attrs.frozen(kw_only=True)
class ClaimedMessage:
    """One message that its holder alone may settle, until ``deadline``.

    Attributes:
        id: The row; within one aggregate, ids are in the order of the commits.
        message: What is to be sent.
        claim_token: Proof of ownership; every result write names it.
        deadline: Reading of ``time.monotonic()``, in seconds, at which the lease is over. A
            send that might end later must not begin.
        attempts: Tries that count against the limit, a lapsed lease included.
        failures: Sends that failed, counted or not; the backoff grows with it.
        taken_over: Whether its former holder let its lease lapse: it may have been sent, or
            have killed its process.
    """

    id: int
    message: OutboxMessage
    claim_token: str
    deadline: float
    attempts: int = 0
    failures: int = 0
    taken_over: bool = False


@attrs.frozen(kw_only=True)
class StoredMessage:
    """One message that a transaction has written to the outbox.

    Attributes:
        id: The row.
        message: What was stored.
        claim: The claim that it was born with; ``None``: it has no owner and is due at once.
    """

    id: int
    message: OutboxMessage
    claim: ClaimedMessage | None


@attrs.frozen(kw_only=True)
class Delivered:
    """A confirmed message.

    Attributes:
        claimed: The message.
        receipt: What the broker answered.
    """

    claimed: ClaimedMessage
    receipt: str


@attrs.frozen(kw_only=True)
class FailedTry:
    """A try that failed.

    Attributes:
        claimed: The message.
        error: What went wrong, for people; the store may shorten it and drop what it cannot hold.
        counted: Whether it counts as an attempt: a broker that is away burns none.
        retry_in: When it is due again.
    """

    claimed: ClaimedMessage
    error: str
    counted: bool = True
    retry_in: dt.timedelta = dt.timedelta()


@attrs.frozen(kw_only=True)
class OutboxEntry:
    """A row as people see it.

    Attributes:
        id: The row.
        message: What was, or is to be, sent.
        status: Its state.
        attempts: Tries that count against the limit.
        failures: Sends that failed, counted or not.
        last_error: What went wrong last, or who skipped it and why.
        created_at: When it was stored, by the store's clock, in UTC.
        due_at: End of its grace, lease, backoff or parking, by the store's clock, in UTC.
        sent_at: When it was marked SENT or SKIPPED, by the store's clock, in UTC.
        receipt: What the broker answered.
    """

    id: int
    message: OutboxMessage
    status: OutboxStatus
    attempts: int
    failures: int
    last_error: str | None
    created_at: dt.datetime
    due_at: dt.datetime
    sent_at: dt.datetime | None
    receipt: str | None


@attrs.frozen(kw_only=True)
class Backlog:
    """How much is not yet sent.

    Attributes:
        pending: Rows in PENDING.
        processing: Rows in PROCESSING.
        failed: Rows in FAILED: a person must look at them.
        oldest_unsent_age: Age of the oldest row that is PENDING or PROCESSING; zero when none.
    """

    pending: int
    processing: int
    failed: int
    oldest_unsent_age: dt.timedelta


class IOutboxStore(Protocol):
    """Persists outbox messages. Safe to call from any thread.

    Implementations must pass ``OutboxStoreContract``. Only ``store`` takes part in the caller's
    transaction; every other method runs in a short one of its own, and holds nothing when it
    returns. Results are fenced: a row changes only for the claim token that owns it.
    """

    @abstractmethod
    def store(
        self, messages: Sequence[OutboxMessage], *, reservation: Reservation | None = None
    ) -> list[StoredMessage]:
        """Write messages in the transaction that this thread has open, else in one of its own.

        A row is born owned where a reservation is given, its aggregate has a version (so that
        this transaction has changed it under its version check), and no older message of that
        aggregate is unsent. Any other row has no owner and is due at once.

        Args:
            messages: In the order in which they happened.
            reservation: Token and grace for rows that may be born owned.

        Returns:
            The stored messages, in the given order; empty for none.

        Raises:
            OutboxStoreError: Nothing was stored; the caller's transaction must be rolled back.
        """

    @abstractmethod
    def claim_pending(self, *, batch_size: int, lease: dt.timedelta) -> list[ClaimedMessage]:
        """Take due messages, oldest due first, none of which could overtake another.

        Two callers never hold the same message. A message is not taken while an older unsent
        one of its aggregate is anything but taken by the same call. A message whose former
        holder let its lease lapse counts an attempt, and comes alone.

        Args:
            batch_size: Upper bound on the messages returned, at least 1.
            lease: How long they stay the caller's; afterwards anyone may claim them.

        Returns:
            The claimed messages, in order within each aggregate; empty when nothing is due.

        Raises:
            OutboxStoreError: Nothing was claimed, or what was claimed comes back when its
                lease ends.
        """

    @abstractmethod
    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        """Take those of the given messages that nobody owns and that could overtake none.

        For the process that has just stored them. Messages that have failed, or are owned,
        sent or hidden behind an older unsent one, are not taken.

        Args:
            ids: Rows; unknown ones are passed over.
            lease: As for ``claim_pending``.

        Returns:
            The claimed messages, in order within each aggregate; possibly empty.

        Raises:
            OutboxStoreError: As for ``claim_pending``.
        """

    @abstractmethod
    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        """Record confirmed messages, in one statement; repeating it changes nothing.

        Returns:
            How many were the caller's (now or by an earlier call): the rest had been lost to
            another owner and keep that one's state.

        Raises:
            OutboxStoreError: Unknown whether it was recorded: call again, or let the lease end.
        """

    @abstractmethod
    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        """Give back messages that were not sent: no owner, due at once, no attempt counted.

        Returns:
            How many were still the caller's.

        Raises:
            OutboxStoreError: Unknown whether it was recorded; they come back with their lease.
        """

    @abstractmethod
    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        """Give back messages whose send failed; each is due again after its ``retry_in``.

        Until then, and until it is sent, it hides its successors from every claim.

        Returns:
            How many were still the caller's.

        Raises:
            OutboxStoreError: Unknown whether it was recorded; they come back with their lease.
        """

    @abstractmethod
    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        """Make dead letters: FAILED, with the error. Each blocks its aggregate, nothing else.

        Returns:
            How many were still the caller's.

        Raises:
            OutboxStoreError: Unknown whether it was recorded; they come back with their lease.
        """

    @abstractmethod
    def tidy(self) -> int:
        """Move out of the way what the claim only has to pass over.

        Parks due messages that wait behind a FAILED one (for as long again as they have waited,
        at most an hour), and brings back what a clock that stepped back has put too far into
        the future. Bounded work; a relay calls it now and then.

        Returns:
            How many rows were moved.

        Raises:
            OutboxStoreError: Nothing was moved.
        """

    @abstractmethod
    def next_due_in(self) -> dt.timedelta | None:
        """Return the time until the next message that is not yet due becomes due.

        Returns:
            More than zero; ``None`` when no message waits for a time to come.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def backlog(self) -> Backlog:
        """Count what is not yet sent, for metrics and people.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def list_failed(self, *, limit: int = 100, after_id: int = 0) -> list[OutboxEntry]:
        """Return dead letters by id, at most ``limit``, from the one after ``after_id``.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def find(self, message_id: str) -> OutboxEntry | None:
        """Return the row of a message in whatever state; ``None`` where there is none.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def replay(self, message_ids: Sequence[str], *, out_of_order: bool = False) -> int:
        """Make dead letters PENDING and due at once, with no attempts; wake what they blocked.

        Args:
            message_ids: Rows in FAILED; others are passed over.
            out_of_order: Take rows in SKIPPED, too, though their successors may have been sent.

        Returns:
            How many rows changed.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        """Make dead letters SKIPPED: they no longer block, and what they blocked is woken.

        Args:
            message_ids: Rows in FAILED; others are passed over.
            by: Who decided it.
            reason: Why; kept with the row.

        Returns:
            How many rows changed.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        """Delete one batch of SENT and SKIPPED rows that ended at least ``older_than`` ago.

        Call it again while it returns ``batch_size``: no call deletes more than one batch, and
        each runs in a transaction of its own, so it may run under load and on many hosts.

        Returns:
            How many rows were deleted.

        Raises:
            OutboxStoreError: Nothing was deleted.
        """
