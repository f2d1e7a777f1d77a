"""The values that pass the outbox port: a message from its storing to its end.

OutboxMessage ──store──▶ StoredMessage       what is written, and the row that it got
                         ClaimedMessage      its holder alone may settle it, until a deadline
Delivered, FailedTry                         what its holder says became of it
OutboxEntry, Backlog                         what people see
"""

import datetime as dt
import enum
from collections.abc import Mapping

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
    """A message in the hands of one holder, who may settle it until the lease is over.

    Attributes:
        id: The row; within one aggregate, ids are in the order of the commits.
        message: What is to be sent.
        claim_token: What proves the ownership whenever a result is written.
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
            What waits for a retry or behind a dead letter counts; the dead letter does not.
    """

    pending: int
    processing: int
    failed: int
    oldest_unsent_age: dt.timedelta
