"""Port: where events wait until the broker has them.

The store keeps the rows and decides about their states; it knows no broker.

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
from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd.ports.outbox_operations import IOutboxOperations


class IOutboxStore(IOutboxOperations, Protocol):
    """Persists outbox messages. Safe to call from any thread.

    Implementations must pass ``OutboxStoreContract``. Only ``store`` takes part in the caller's
    transaction; every other method runs in a short one of its own, and holds nothing when it
    returns. Results are fenced: a row changes only for the claim token that owns it.
    """

    @property
    @abstractmethod
    def settles_beside_claims(self) -> bool:
        """Whether it gains time to write results in one thread while another one claims."""

    @abstractmethod
    def store(
        self, messages: Sequence[OutboxMessage], *, reservation: Reservation | None = None
    ) -> list[StoredMessage]:
        """Write messages in the transaction that this thread has open, else in one of its own.

        A row is born owned where a reservation is given, its aggregate has a version (so that
        this transaction has changed it under its version check), and no older message of that
        aggregate is unsent but under the same reservation. Any other row has no owner and is due
        at once.

        Args:
            messages: In the order in which they happened.
            reservation: Token and grace for rows that may be born owned.

        Returns:
            The stored messages, in the given order; empty for none.

        Raises:
            OutboxStoreError: Nothing was stored; the caller's transaction must be rolled back.
        """

    @abstractmethod
    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        """Take due messages, oldest due first, without breaking the order of any aggregate.

        No message is ever held by two callers. One is not taken while an older unsent
        one of its aggregate is anything but taken by the same call. Messages whose
        former holder let the lease lapse count an attempt and come apart from others; one that had
        attempts before comes alone, because it may be what kills its holders.

        Args:
            batch_size: Most messages to take, at least 1.
            lease: For how long; then they may be claimed by anybody.
            confirmed_token: Claim token of the caller's former claim, if the broker has confirmed
                every message of it and their marks are still being written: they hold back none
                of their successors.

        Returns:
            What was taken, each aggregate's messages in order; empty where nothing can be.

        Raises:
            OutboxStoreError: If anything was claimed all the same, it comes back with the end of
                its lease.
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
            What was taken, each aggregate's messages in order; possibly empty.

        Raises:
            OutboxStoreError: As for ``claim_pending``.
        """

    @abstractmethod
    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        """Return those of the given messages that ``claim`` might still take, now or later.

        For the process that has just stored them, and waits to claim them: all others are sent,
        owned by somebody, failed, or gone.

        Args:
            ids: Rows; unknown ones are passed over.

        Raises:
            OutboxStoreError: Nothing was changed.
        """

    @abstractmethod
    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        """Make confirmed messages SENT, all in one statement; repeating it changes nothing.

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
        at most an hour), and brings back what a clock that stepped back has put into the
        future: a row that seems to have been stored, or given to its owner, later than now is
        taken to have been so now. Bounded work; a relay calls it now and then.

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
