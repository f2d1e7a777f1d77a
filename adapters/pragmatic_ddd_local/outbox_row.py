"""One row of the outbox in memory, and the questions that the order rules ask of it."""

import datetime as dt

import attrs

from pragmatic_ddd.ports import ClaimedMessage, OutboxEntry, OutboxMessage, OutboxStatus

LONGEST_TEXT = 4000
# What differs by less is no step of the clock, but a moment between two readings.
_A_MOMENT = dt.timedelta(seconds=1)
_DUE_STATES = frozenset({OutboxStatus.PENDING, OutboxStatus.PROCESSING})
_ENDED_STATES = frozenset({OutboxStatus.SENT, OutboxStatus.SKIPPED})


@attrs.define(kw_only=True, eq=False)
class OutboxRow:
    """A message and its state; see ``OutboxEntry``.

    Attributes:
        claim_token: Who may settle it; a SENT row keeps it.
        lease: How long its present owner has it in all; zero without one.
        claimed_at: When somebody was last given it.
    """

    id: int
    message: OutboxMessage
    created_at: dt.datetime
    due_at: dt.datetime
    claim_token: str | None = None
    lease: dt.timedelta = dt.timedelta()
    claimed_at: dt.datetime | None = None
    status: OutboxStatus = OutboxStatus.PENDING
    attempts: int = 0
    failures: int = 0
    last_error: str | None = None
    sent_at: dt.datetime | None = None
    receipt: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is still to be sent by itself: PENDING or PROCESSING."""
        return self.status in _DUE_STATES

    @property
    def is_unsent(self) -> bool:
        """Whether its successors have to wait for it."""
        return self.status not in _ENDED_STATES

    @property
    def is_free(self) -> bool:
        """Whether it has no owner, was never tried and waits for nobody but its predecessors."""
        return self.status is OutboxStatus.PENDING and not self.failures and not self.claim_token

    @property
    def is_hindered(self) -> bool:
        """Whether it hides its successors from every claim: owned, to be retried, or FAILED."""
        return self.is_unsent and not self.is_free

    @property
    def has_owner(self) -> bool:
        """Whether somebody owns it; if it is due as well, its lease has lapsed."""
        return self.claim_token is not None

    @property
    def is_suspect(self) -> bool:
        """Whether it may have killed its owner: it was tried before it was owned."""
        return self.has_owner and self.attempts > 0

    def belongs_to(self, claim_token: str) -> bool:
        """Tell whether the holder of that token may settle it."""
        return self.is_open and self.claim_token == claim_token

    def give(self, claim_token: str, now: dt.datetime, lease: dt.timedelta) -> None:
        """Let somebody claim it; a lease that has lapsed counts as an attempt."""
        if self.claim_token is not None:
            self.attempts += 1
        self.status = OutboxStatus.PROCESSING
        self.own(claim_token, now, lease)

    def own(self, claim_token: str, now: dt.datetime, lease: dt.timedelta) -> None:
        """Let somebody have it until the lease is over."""
        self.claim_token = claim_token
        self.lease = lease
        self.claimed_at = now
        self.due_at = now + lease

    def give_back(self, due_at: dt.datetime) -> None:
        """Take its owner away."""
        self.status = OutboxStatus.PENDING
        self.claim_token = None
        self.lease = dt.timedelta()
        self.due_at = due_at

    def is_ahead_of(self, now: dt.datetime) -> bool:
        """Tell whether it was stored, or given to its owner, later than now."""
        latest = now + _A_MOMENT
        was_given_later = self.claimed_at is not None and self.claimed_at > latest
        return was_given_later or (self.is_free and self.created_at > latest)

    def bring_back(self, now: dt.datetime) -> None:
        """Have it due at once, or after the lease of its owner, who may live."""
        self.due_at = now + self.lease
        self.claimed_at = now if self.claim_token is not None else None
        self.created_at = min(self.created_at, now)

    def note_failure(self, error: str, *, counted: bool) -> None:
        """Count a send that failed."""
        self.attempts += counted
        self.failures += 1
        self.last_error = storable(error)

    def claimed(self, deadline: float, *, taken_over: bool = False) -> ClaimedMessage:
        """Return what its owner gets."""
        assert self.claim_token is not None  # noqa: S101  # it has just been given
        return ClaimedMessage(
            id=self.id,
            message=self.message,
            claim_token=self.claim_token,
            deadline=deadline,
            attempts=self.attempts,
            failures=self.failures,
            taken_over=taken_over,
        )

    def entry(self) -> OutboxEntry:
        """Return what people see."""
        return OutboxEntry(
            id=self.id,
            message=self.message,
            status=self.status,
            attempts=self.attempts,
            failures=self.failures,
            last_error=self.last_error,
            created_at=self.created_at,
            due_at=self.due_at,
            sent_at=self.sent_at,
            receipt=self.receipt,
        )


def storable(text: str) -> str:
    """Return the text as every database can hold it: short, without NUL and half characters."""
    clean = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    return clean[:LONGEST_TEXT]
