"""What a store has to provide for the outbox contract."""

import datetime as dt
from abc import abstractmethod
from typing import ClassVar

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, OutboxEntry
from pragmatic_ddd.ports.transactions import ITransactionOperations
from pragmatic_ddd.testing.messages import A_MINUTE


class OutboxStoreBinding:
    """Provides an empty store, its time and its transactions.

    Attributes:
        claims_concurrently: Whether threads may claim at the same time.
        reserves: Whether rows may be born owned.
    """

    claims_concurrently: ClassVar[bool] = True
    reserves: ClassVar[bool] = True

    @pytest.fixture
    @abstractmethod
    def store(self) -> IOutboxStore:
        """Return an empty store."""

    @abstractmethod
    def pass_time(self, store: IOutboxStore, duration: dt.timedelta) -> None:
        """Have all that is stored grow older by ``duration``; negative: the clock steps back."""

    @abstractmethod
    def transactions(self, store: IOutboxStore) -> ITransactionOperations:
        """Return what runs the transactions that ``store.store`` takes part in."""


def claim_all(store: IOutboxStore, lease: dt.timedelta = A_MINUTE) -> list[ClaimedMessage]:
    """Claim everything that can be claimed at once."""
    return store.claim_pending(batch_size=1000, lease=lease)


def row(store: IOutboxStore, message_id: str) -> OutboxEntry:
    """Return a row that must be there."""
    entry = store.find(message_id)
    assert entry is not None, f"{message_id} is not stored"
    return entry
