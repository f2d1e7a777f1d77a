"""Port: what people, command lines and alerts ask of the outbox, beside all sending.

FAILED ──replay──▶ PENDING        SENT, SKIPPED ──purge──▶ gone
  └─────skip─────▶ SKIPPED
"""

import datetime as dt
from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from pragmatic_ddd.ports.outbox_message import Backlog, OutboxEntry


class IOutboxOperations(Protocol):
    """Looks into the outbox, and decides about dead letters: every ``IOutboxStore`` does.

    Safe to call from any thread. Each call is a short transaction of its own.
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
            TypeError: ``limit`` or ``after_id`` is no whole number.
            ValueError: ``limit`` is below 1: an empty list would say that nothing is dead.
        """

    @abstractmethod
    def find(self, message_id: str) -> OutboxEntry | None:
        """Return the row of a message in whatever state; ``None`` where there is none.

        Raises:
            OutboxStoreError: Nothing was changed.
            TypeError: The id is no text.
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
            TypeError: One text was given instead of many, or an id is no text.
        """

    @abstractmethod
    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        """Make dead letters SKIPPED: they no longer block, and what they blocked is woken.

        Args:
            message_ids: Rows in FAILED; others are passed over.
            by: Who decided it.
            reason: Why; kept with the row, as ``by`` is.

        Returns:
            How many rows changed.

        Raises:
            OutboxStoreError: Nothing was changed.
            TypeError: One text was given instead of many, or an id is no text.
            ValueError: ``by`` or ``reason`` is blank.
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
            TypeError: ``older_than`` is no duration, or ``batch_size`` no whole number.
            ValueError: ``batch_size`` is below 1.
        """
